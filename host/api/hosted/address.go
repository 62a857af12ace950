package hosted

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service"
)

// clientAddress is who asks: the connection's peer, or when that is a trusted
// proxy the right-most X-Forwarded-For entry that is none. A header of which any
// part is malformed, and one with trusted entries only, tell nothing: the peer.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer := peerAddress(r)
	if !within(peer, trusted) {
		return peer
	}
	var entries []netip.Addr
	for _, header := range r.Header.Values("X-Forwarded-For") {
		for text := range strings.SplitSeq(header, ",") {
			address, err := netip.ParseAddr(strings.Trim(text, " \t"))
			if err != nil || address.Zone() != "" {
				return peer
			}
			entries = append(entries, address.Unmap())
		}
	}
	for _, address := range slices.Backward(entries) {
		if !within(address, trusted) {
			return address
		}
	}
	return peer
}

// peerAddress is the other end of the connection, the zero Addr when it has none.
func peerAddress(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}

func within(address netip.Addr, networks []netip.Prefix) bool {
	return address.IsValid() && slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(address) })
}

// counted is the text under which an address is counted.
func counted(address netip.Addr) string { return service.AddressBucket(address.String()) }

// directLoopback reports a connection from this machine that no proxy forwarded.
func directLoopback(r *http.Request) bool {
	return peerAddress(r).IsLoopback() && len(r.Header.Values("X-Forwarded-For")) == 0
}
