package relay

import (
	"errors"
	"net"
	"net/netip"
)

// errAddress is every refusal of an address: which rule it broke is not told, so
// that nobody maps a network by it.
var errAddress = errors.New("the address is not allowed")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

var (
	// Everything of IPv4 that is not global unicast.
	refused4 = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")

	// Of IPv6 only these are looked at as global unicast, without the next list.
	global6  = prefixes("2000::/3", "64:ff9b::/96")
	refused6 = prefixes("2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20")

	mapped = netip.MustParsePrefix("::ffff:0:0/96")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	to6    = netip.MustParsePrefix("2002::/16")
	teredo = netip.MustParsePrefix("2001::/32")

	// alone are readmitted only when listed by themselves: they belong to the
	// machine, whatever network it stands in.
	alone = prefixes("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32",
		"168.63.129.16/32", "192.0.0.192/32")
)

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// forms are the addresses that an address stands for: itself and every IPv4
// address that it carries.
func forms(a netip.Addr) []netip.Addr {
	a = a.WithZone("")
	if a.Is4() {
		return []netip.Addr{a}
	}
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case mapped.Contains(a) || a.Is4In6():
		return []netip.Addr{a.Unmap()}
	case nat64.Contains(a):
		return []netip.Addr{a, at(12)}
	case to6.Contains(a):
		return []netip.Addr{a, at(2)}
	case teredo.Contains(a):
		client := at(12).As4()
		for i := range client {
			client[i] ^= 0xff
		}
		return []netip.Addr{a, at(4), netip.AddrFrom4(client)}
	}
	return []netip.Addr{a}
}

// allowed judges one address with all that it stands for.
func (r *Relay) allowed(a netip.Addr) bool {
	for _, form := range forms(a) {
		if !r.allowedForm(form) {
			return false
		}
	}
	return true
}

func (r *Relay) allowedForm(a netip.Addr) bool {
	if within(a, alone) {
		for _, p := range r.networks {
			if p.IsSingleIP() && p.Contains(a) {
				return true
			}
		}
		return false
	}
	if within(a, r.networks) || r.loopback && a.IsLoopback() {
		return true
	}
	if a.Is4() {
		return !within(a, refused4)
	}
	return within(a, global6) && !within(a, refused6)
}

// own reports a listener of this host, whichever form its address is given in:
// through it the service would ask itself.
func (r *Relay) own(a netip.Addr, port uint16) bool {
	if r.listeners == nil {
		return false
	}
	for _, l := range r.listeners() {
		if l.Port() != port {
			continue
		}
		at := l.Addr().Unmap().WithZone("")
		for _, form := range forms(a) {
			if at == form || at.IsUnspecified() && ofThisMachine(form) {
				return true
			}
		}
	}
	return false
}

func ofThisMachine(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return true // not to know is no permission
	}
	for _, i := range addresses {
		if n, ok := i.(*net.IPNet); ok {
			if b, ok := netip.AddrFromSlice(n.IP); ok && b.Unmap() == a {
				return true
			}
		}
	}
	return false
}
