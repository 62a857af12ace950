// Package listen holds the servers that carry the host's HTTP: their bounds, TLS
// and its files, the administration socket, and who is at the other end of it.
//
// It knows no path and no operation, and decides about no request.
package listen
