package relay

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/service/fault"
)

// localScheme begins the URL of an application of this same host.
const localScheme = "local:"

// IsLocal reports a URL that names an application of this host: it has no secret.
func IsLocal(raw string) bool { return strings.HasPrefix(raw, localScheme) }

const codeRejected = "relay_url_rejected"

func rejected(format string, args ...any) *fault.Error {
	return fault.Cloud(codeRejected, format, args...)
}

// CheckURL judges a relay URL before an application is linked there, its name
// resolved; the error is relay_url_rejected, or application_mismatch for a local
// name that is not the application's own id. What a name resolves to is judged
// again at every connect.
func (r *Relay) CheckURL(ctx context.Context, org, application, raw string) error {
	if name, local := strings.CutPrefix(raw, localScheme); local {
		if name != application {
			return fault.Cloud("application_mismatch", "the entry %s is linked as local:%s only, never as another application of this host", application, application)
		}
		if _, ok := r.localApplication(org, name); !ok {
			return rejected("this host has no such application for the org")
		}
		return nil
	}
	u, err := parse(raw)
	if err != nil {
		return err
	}
	if err := r.checkScheme(ctx, u); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.times.Connect)
	defer cancel()
	if _, err := r.resolve(ctx, u.Hostname(), portOf(u), u.Scheme == "http"); err != nil {
		return rejected("relayUrl must lead to an address that is allowed")
	}
	if u.Scheme == "http" {
		r.log.Warn("an application is linked over plain http; this is for development only", "org", org, "url", u.Redacted())
	}
	return nil
}

func parse(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, rejected("relayUrl must be absolute and https, or local:<application>")
	case len(raw) > maxURL:
		return nil, rejected("relayUrl must not be longer than %d bytes", maxURL)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, rejected("relayUrl must have no user info, query or fragment")
	}
	if text := u.Port(); text != "" || strings.HasSuffix(u.Host, ":") {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port != 443 && port < 1024 {
			return nil, rejected("the port of relayUrl must be 443, or 1024 and above")
		}
	} else if u.Scheme == "http" {
		return nil, rejected("relayUrl over http must name a port of 1024 or above")
	}
	return u, nil
}

const maxURL = 2048

// checkScheme refuses plain http unless the host is one of a developer.
func (r *Relay) checkScheme(ctx context.Context, u *url.URL) error {
	if u.Scheme == "https" {
		return nil
	}
	const must = "relayUrl must be https"
	if !r.loopback || !loopbackName(u.Hostname()) {
		return rejected(must)
	}
	one, err := r.oneOrg(ctx)
	if err != nil {
		return err
	}
	if !one {
		return rejected(must + " on a host with more than one org")
	}
	return nil
}

func (r *Relay) oneOrg(ctx context.Context) (bool, error) {
	n, err := r.orgs(ctx)
	return n <= 1, err
}

// loopbackName are the names over which plain http is allowed
// (spec: hosted-api §9).
func loopbackName(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func portOf(u *url.URL) uint16 {
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return uint16(port)
	}
	return 443
}

// resolve answers the addresses of a name when every one of them is allowed; an
// address among them that is not refuses all.
func (r *Relay) resolve(ctx context.Context, host string, port uint16, plain bool) ([]netip.AddrPort, error) {
	var found []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{literal}
	} else if found, err = r.lookup(ctx, host); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	list := make([]netip.AddrPort, len(found))
	for i, a := range found {
		to := netip.AddrPortFrom(a.Unmap(), port)
		if !r.allowed(a) || r.own(a, port) || plain && !to.Addr().IsLoopback() {
			return nil, errAddress
		}
		if to.Addr().IsLoopback() && !within(to.Addr(), r.networks) { // it is AllowLoopback that admits it
			if one, err := r.oneOrg(ctx); err != nil {
				return nil, err
			} else if !one {
				return nil, errAddress
			}
		}
		list[i] = to
	}
	return list, nil
}
