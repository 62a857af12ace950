// Package plugin carries plugins across the process boundary: the handshake,
// Serve for plugin binaries, and the bridges from the interfaces of the SDK to
// gRPC and back. A vendor's main.go calls Serve; the host's host/pluginhost uses
// Client and everything else.
//
// The files follow the roles: *_server.go runs in the plugin, *_client.go in the
// host, the rest translates. The wire stands in proto/authz/plugin/v1.
//
// The package knows go-plugin and gRPC so that no other package of the SDK must.
// It interprets nothing that it carries, starts no process, and never writes to
// standard output, which is the handshake's channel.
package plugin
