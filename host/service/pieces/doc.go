// Package pieces keeps values in the account data that are larger than a record
// holds: a value is cut into records that are written with the rest of a commit,
// so that it is there whole or not at all, and is read back byte for byte.
//
// It touches account data only, never changes a value, and knows nothing of what
// the bytes mean.
package pieces
