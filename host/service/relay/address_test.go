package relay_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
)

func addresses(texts ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		var list []netip.Addr
		for _, t := range texts {
			list = append(list, netip.MustParseAddr(t))
		}
		return list, nil
	}
}

func strict(t *testing.T, o relay.Options) *relay.Relay {
	t.Helper()
	r, err := relay.New(o)
	must(t, err)
	return r
}

func isRejected(err error) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Code == "relay_url_rejected"
}

func TestOnlyGlobalUnicastIsAsked(t *testing.T) {
	for address, allowed := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1:248:1893:25c8:1946": true, "64:ff9b::5db8:d822": true, "2002:5db8:d822::1": true,
		"0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false, "127.0.0.1": false, "169.254.169.254": false, "172.16.0.1": false,
		"172.31.255.255": false, "192.168.1.1": false, "192.0.0.1": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false,
		"203.0.113.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false, "168.63.129.16": false,
		"::": false, "::1": false, "fc00::1": false, "fd00:ec2::254": false, "fe80::1": false, "ff02::1": false, "2001:db8::1": false, "3fff::1": false,
		"::ffff:10.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:93.184.216.34": true, "::10.0.0.1": false,
		"64:ff9b::a00:1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::5db8:d822": false, "2002:7f00:1::1": false, "2002:a00:1::": false,
		// Teredo carries its server, and its client with all bits turned.
		"2001:0:5db8:d822:0:0:a247:27dd": true, "2001:0:5db8:d822:0:0:80ff:fffe": false, "2001:0:a00:1:0:0:a247:27dd": false,
		"fec0::1": false, "100::1": false, "2001:10::1": false,
	} {
		r := strict(t, relay.Options{Lookup: addresses(address)})
		err := r.CheckURL(context.Background(), "acme", "docs", "https://docs.example/authz")
		if allowed && err != nil || !allowed && !isRejected(err) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestEveryAddressOfANameMustPass(t *testing.T) {
	r := strict(t, relay.Options{Lookup: addresses("93.184.216.34", "10.0.0.1")})
	if err := r.CheckURL(context.Background(), "acme", "docs", "https://docs.example"); !isRejected(err) {
		t.Error(err)
	}
	none := strict(t, relay.Options{Lookup: addresses()})
	if err := none.CheckURL(context.Background(), "acme", "docs", "https://docs.example"); !isRejected(err) {
		t.Error(err)
	}
}

func TestNetworksAreReadmittedAndMachineAddressesOnlyByThemselves(t *testing.T) {
	networks := func(texts ...string) (list []netip.Prefix) {
		for _, p := range texts {
			list = append(list, netip.MustParsePrefix(p))
		}
		return list
	}
	for _, c := range []struct {
		networks []netip.Prefix
		address  string
		allowed  bool
	}{
		{networks("10.0.0.0/8"), "10.1.2.3", true},
		{networks("10.0.0.0/8"), "192.168.0.1", false},
		{networks("10.0.0.0/8"), "64:ff9b::a01:203", true},
		{networks("0.0.0.0/0"), "169.254.169.254", false},
		{networks("169.254.0.0/16"), "169.254.169.254", false},
		{networks("169.254.169.254/32"), "169.254.169.254", true},
		{networks("fe80::/10"), "fe80::1", false},
		{networks("fe80::1/128"), "fe80::1", true},
		{networks("fd00::/8"), "fd00:ec2::254", false},
	} {
		r := strict(t, relay.Options{Lookup: addresses(c.address), AllowedNetworks: c.networks})
		if err := r.CheckURL(context.Background(), "acme", "docs", "https://docs.example"); (err == nil) != c.allowed {
			t.Errorf("%v %s: %v", c.networks, c.address, err)
		}
	}
}

func TestTheFormOfARelayURL(t *testing.T) {
	r := strict(t, relay.Options{Lookup: addresses("93.184.216.34")})
	for raw, allowed := range map[string]bool{
		"https://docs.example": true, "https://docs.example/base/v1/x": true, "https://docs.example:443": true, "https://docs.example:8443/": true,
		"": false, "docs.example": false, "//docs.example": false, "ftp://docs.example": false, "https:docs.example": false, "https://": false,
		"http://docs.example:8080": false, "http://127.0.0.1:8080": false, "https://docs.example:22": false, "https://docs.example:0": false,
		"https://docs.example:80": false, "https://docs.example:70000": false, "https://docs.example:": false, "https://u:p@docs.example": false,
		"https://docs.example?x=1": false, "https://docs.example?": false, "https://docs.example#f": false, "https://docs.example#": false,
		"https://127.0.0.1": false, "https://[::1]": false, "https://2130706433": true, // a name like any other: what it resolves to decides
		"local:docs": false, "https://docs.example/" + strings.Repeat("x", 3000): false,
	} {
		if err := r.CheckURL(context.Background(), "acme", "docs", raw); allowed && err != nil || !allowed && !isRejected(err) {
			t.Errorf("%.60q: %v", raw, err)
		}
	}
}

// A name that is harmless when it is linked and means this machine later.
func TestAnAddressIsJudgedAtEveryConnect(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	must(t, err)
	var rebound atomic.Bool
	r := strict(t, relay.Options{Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		if rebound.Load() {
			return addresses("127.0.0.1")(ctx, host)
		}
		return addresses("93.184.216.34")(ctx, host)
	}})
	base := "https://docs.example:" + u.Port()
	must(t, r.CheckURL(context.Background(), "acme", "docs", base))
	rebound.Store(true)
	if got := said(t, write(r.For(target(base)))); got != unreachable || asked.Load() != 0 {
		t.Errorf("%s, asked %d times", got, asked.Load())
	}
}

func TestTheNameIsKeptForTLSAndACertificateIsVerified(t *testing.T) {
	app := served(t, newApplication(t))
	server := httptest.NewTLSServer(app)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	must(t, err)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	for _, c := range []struct {
		host string
		pool *x509.CertPool
		want string
	}{{"example.com", trusted, "ok"}, {"other.example", trusted, unreachable}, {"example.com", x509.NewCertPool(), unreachable}} {
		r := strict(t, relay.Options{Lookup: addresses("127.0.0.1"), AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: c.pool})
		if got := said(t, write(r.For(target("https://"+c.host+":"+u.Port())))); got != c.want {
			t.Errorf("%s: %s", c.host, got)
		}
	}
}

func TestTheHostNeverAsksItself(t *testing.T) {
	server := httptest.NewServer(served(t, newApplication(t)))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	must(t, err)
	me := netip.MustParseAddrPort(u.Host)
	for name, listener := range map[string]netip.AddrPort{
		"itself": me, "every address": netip.AddrPortFrom(netip.IPv4Unspecified(), me.Port()), "every address of v6": netip.AddrPortFrom(netip.IPv6Unspecified(), me.Port()),
	} {
		r := newRelay(t, relay.Options{OwnListeners: func() []netip.AddrPort { return []netip.AddrPort{listener} }})
		if err := r.CheckURL(context.Background(), "acme", "docs", server.URL); !isRejected(err) {
			t.Errorf("%s is linked: %v", name, err)
		}
		if got := said(t, write(r.For(target(server.URL)))); got != unreachable {
			t.Errorf("%s is asked: %s", name, got)
		}
	}
}

func TestTheHostKnowsItselfInEveryForm(t *testing.T) {
	own := func() []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort("93.184.216.34:443")} }
	for _, form := range []string{"93.184.216.34", "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1"} {
		r := strict(t, relay.Options{Lookup: addresses(form), OwnListeners: own})
		if err := r.CheckURL(context.Background(), "acme", "docs", "https://docs.example/authz"); !isRejected(err) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func TestPlainHTTPIsForOneDevelopersOrg(t *testing.T) {
	server := httptest.NewServer(served(t, newApplication(t)))
	t.Cleanup(server.Close)
	var orgs atomic.Int32
	orgs.Store(1)
	r := newRelay(t, relay.Options{Orgs: func(context.Context) (int, error) { return int(orgs.Load()), nil }})
	must(t, r.CheckURL(context.Background(), "acme", "docs", server.URL))
	must(t, write(r.For(target(server.URL))))
	orgs.Store(2)
	if err := r.CheckURL(context.Background(), "acme", "docs", server.URL); !isRejected(err) {
		t.Error(err)
	}
	if got := said(t, write(r.For(target(server.URL)))); got != unreachable {
		t.Error(got)
	}
	secure := strict(t, relay.Options{AllowLoopback: true, Orgs: func(context.Context) (int, error) { return int(orgs.Load()), nil }})
	if err := secure.CheckURL(context.Background(), "acme", "docs", "https://127.0.0.1:8443"); !isRejected(err) {
		t.Errorf("one org of two may have its neighbours on this machine asked over https: %v", err)
	}
	orgs.Store(1)
	must(t, secure.CheckURL(context.Background(), "acme", "docs", "https://127.0.0.1:8443"))
	if _, err := relay.New(relay.Options{AllowLoopback: true}); err == nil {
		t.Error("loopback is allowed without counting orgs")
	}
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	r := strict(t, relay.Options{Lookup: addresses("10.0.0.1")})
	if got := said(t, write(r.For(target("https://docs.example")))); got != unreachable || asked.Load() != 0 {
		t.Errorf("%s, the proxy was asked %d times", got, asked.Load())
	}
}
