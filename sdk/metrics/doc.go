// Package metrics counts an application's own checks and the rows that decided
// them: observations and the observers that receive them, the Recorder by which
// a client samples and delivers, the Aggregator that folds observations into
// bounded windows, the ProviderSink that hands closed windows to a provider, the
// Forwarder that takes them to a Sink, and the safeguard that reads usage before a
// row is removed.
//
// Metrics are counts, not audit: sampled, lossy, dropped under load, never a
// basis for a decision. Nothing here changes or fails a check, makes one wait on
// storage or a network, or grows with traffic.
//
// The package imports only sdk/authz. It does no I/O of its own and keeps
// nothing beyond the process.
package metrics
