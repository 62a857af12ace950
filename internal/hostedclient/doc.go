// Package hostedclient asks the hosted API of a host about one org (spec: hosted-api §1):
// requests, lists by pages, exports as a stream, and the operations of the provider
// API by the endpoints that serve them. It is the command's: what it refuses names
// the flags of authz.
package hostedclient
