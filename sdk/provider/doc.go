// Package provider is the contract between those who evaluate or administer and
// an application that holds the rows: the Provider interface, the manifest of
// operations that cross the wire, wire errors, and Caller, the raw HTTP call.
//
// The host's application implements Provider over storage; callers over HTTP see
// the same operations, results and typed errors. The package decides nothing
// about access and stores nothing.
package provider
