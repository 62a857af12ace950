// Package lists cuts lists of storage and of applications into pieces and pages.
package lists
