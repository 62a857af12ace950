// Package shipped has a half that runs in a browser.
package shipped
