package throttle

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientAddress is who asks: the connection's peer, or when that is a trusted
// proxy the right-most X-Forwarded-For entry that is none. A header of which any
// part is malformed, and one with trusted entries only, tell nothing: the peer.
func ClientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer := PeerAddress(r)
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

// PeerAddress is the other end of the connection, the zero Addr when it has none.
func PeerAddress(r *http.Request) netip.Addr {
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

// Counted is the text by which an address is counted as one client: the address,
// of IPv6 its /64.
func Counted(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if !address.Is6() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}
