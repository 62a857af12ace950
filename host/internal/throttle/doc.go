// Package throttle limits how often a client may do something: token buckets in
// the memory of one host, bounded in number, and the client's address by which
// strangers are counted. Both HTTP APIs use it. It knows nothing of their errors.
package throttle
