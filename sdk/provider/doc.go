// Package provider is the contract between an application, which holds the rows, and
// whoever checks or administers them.
//
//   - Provider is the contract as an interface.
//   - Operations is the manifest of what crosses the wire, each operation declared once.
//   - Caller is the raw HTTP call, and Hosted a Provider over it.
//   - Poller feeds a provider's event log into the caches of a process.
//
// The host's application implements Provider over storage. Callers over HTTP see the
// same operations, results and typed errors. The package decides nothing about access
// and stores nothing.
package provider
