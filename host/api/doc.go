// Package api is the HTTP face of the host: the provider API of each
// application, the local administration API, health, and NewObserved, which tells
// of every request. Package listen carries it.
//
// It reads requests strictly, calls the consumer-owned interfaces declared here
// (Backend, Evaluator, OrgSnapshots, LocalBackend with its Reviewer,
// HostControl) and writes results and typed errors in their wire form. It never
// decides about access, never touches storage or plugins, keeps no state between
// requests, and never puts a secret or an internal error's text into an answer.
package api
