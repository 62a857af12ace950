// Package provider is the contract between those who evaluate or administer and
// an application that holds the rows: the Provider interface, the manifest of
// operations that cross the wire, wire errors, Caller, the raw HTTP call, Hosted,
// a Provider over it, and Poller, which feeds a provider's event log into the
// caches of a process.
//
// The host's application implements Provider over storage; callers over HTTP see
// the same operations, results and typed errors. The package decides nothing
// about access and stores nothing.
package provider
