// Package spell renders other people's text in messages, bounded and with nothing hidden
// in it, and finds the name that a misspelt one was meant to be. It imports nothing of
// this module.
package spell
