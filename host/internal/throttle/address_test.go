package throttle

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestTheClientIsThePeerUnlessATrustedProxySaysOtherwise(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		peer    string
		headers []string
		want    string
	}{
		{"203.0.113.5:1", nil, "203.0.113.5"},
		{"203.0.113.5:1", []string{"198.51.100.1"}, "203.0.113.5"}, // no proxy of ours
		{"10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"1.2.3.4, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"1.2.3.4", "198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"1.2.3.4, nonsense"}, "10.0.0.1"},
		{"10.0.0.1:1", []string{"nonsense, 1.2.3.4"}, "10.0.0.1"},
		{"10.0.0.1:1", []string{""}, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.1:80"}, "10.0.0.1"},
		{"10.0.0.1:1", []string{"10.0.0.9, 10.0.0.2"}, "10.0.0.1"},
		{"[::ffff:10.0.0.1]:1", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.headers
		r.Header.Set("Forwarded", "for=9.9.9.9")
		r.Header.Set("X-Real-Ip", "9.9.9.9")
		if c.headers == nil {
			delete(r.Header, "X-Forwarded-For")
		}
		if got := ClientAddress(r, trusted).String(); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.peer, c.headers, got, c.want)
		}
	}
	if a, b := Counted(netip.MustParseAddr("2001:db8::1")), Counted(netip.MustParseAddr("2001:db8::2:3")); a != b {
		t.Errorf("one /64 is counted as %s and %s", a, b)
	}
	if a, b := Counted(netip.MustParseAddr("192.0.2.1")), Counted(netip.MustParseAddr("192.0.2.2")); a == b {
		t.Error("two IPv4 addresses are counted as one")
	}
}
