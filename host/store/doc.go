// Package store stands between an application and the store that a storage
// driver opened for it, so that drivers stay small. It is a storage.Store itself.
//
// It gives every call a deadline. When the driver's process dies it reopens the
// partition, in the background too; reads that are safe to repeat are repeated
// once, lists go on after the last row received, and a commit whose fate is
// unknown is sent again by its id until it is known. Sections stay bound to the
// handle that they were acquired through and are never repeated.
//
// It guards the incarnation of the content: a partition that comes back as
// another life, or is found to be one when it is compared every few seconds, is
// lost, which is never taken for empty. So is content that its driver says was taken
// away under it, of which it asks twice a second. Closure reads and recorded ancestry then
// answer unavailable until an operator accepts the new content; writes and lists
// go on so that it can be filled again.
//
// It times every call of the driver and, in a trace that is kept, makes it a span.
//
// The package imports only the sdk, internal/spell, a logger and the interface of traces.
// It never interprets rows,
// keeps none, and knows nothing of plugins or processes beyond the errors that
// a handle answers with.
package store
