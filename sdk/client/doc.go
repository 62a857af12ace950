// Package client asks the questions: check shapes over any provider, evaluated
// in the caller's own process over cached closures and chains.
//
// A Client holds what a provider supplied (never decisions), drops what an
// invalidation event names, and compares itself with the provider's event log
// once a window. A CacheStore lets processes share what they hold; what comes
// from there is checked and is never older than what the client would hold
// itself. A Session asks for an administrator who looks through another's eyes, and
// only ever narrows. ServiceKeys verifies machine callers. Any failure to learn what it needs is an error, never an answer. It
// touches nothing but its provider, its own memory and that store; it never
// writes rows.
package client
