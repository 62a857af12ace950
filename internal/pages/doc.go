// Package pages reads lists of the provider API page by page (spec: host §5), so that
// no answer is large and none takes long.
package pages
