// Package acme is the sample world: the catalog of a document and billing
// product, a company of 1,200 people with their groups, roles, grants, revokes
// and folders, and 500 questions about it with the answers a plain walk over the
// generated rows gives.
//
// Generate is deterministic: the same bytes on every run and machine. Load puts
// a world into a host through the host's own operations, as any customer would.
// The package knows the vocabulary and the wire (sdk/authz, sdk/provider,
// sdk/directory) and nothing of evaluation: it never imports sdk/access,
// sdk/catalog, sdk/client or the host, so that its answers are worth comparing
// with theirs.
package acme
