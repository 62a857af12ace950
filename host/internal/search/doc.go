// Package search tells what a console's search finds: what begins with the words that
// somebody typed (spec: hosted-api §8).
package search
