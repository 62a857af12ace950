// Package client asks the questions: check shapes over any provider, evaluated
// in the caller's own process over cached closures and chains.
//
// A Client caches what a provider supplied, never decisions. It drops what an
// invalidation event names. Once a window it compares its caches with the provider's
// event log. A CacheStore lets processes share what they hold. The client checks what
// comes from there; it is never older than what the client would hold itself.
//
// A Session checks for an administrator who looks through another's eyes; it only ever
// narrows. ServiceKeys verifies machine callers.
//
// When a client cannot learn what it needs, it returns an error, never an answer. It
// touches nothing but its provider, its own memory and the CacheStore. It never writes
// rows.
package client
