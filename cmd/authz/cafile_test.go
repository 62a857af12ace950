package main

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/testcert"
)

// behindTLS serves a host's listener with a certificate that no system trusts.
func behindTLS(t *testing.T, host string) (base, ca string) {
	t.Helper()
	ca, certificate, key := testcert.Make(t)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: httputil.NewSingleHostReverseProxy(to), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	go func() { _ = server.ServeTLS(l, "", "") }() // ends when it is closed
	t.Cleanup(func() { server.Close() })
	return "https://" + l.Addr().String(), ca
}

func TestTheProviderAPIWithACertificateOfOnesOwn(t *testing.T) {
	s := newConsole(t)
	base, ca := behindTLS(t, s.base)
	bad := s.write("bad.pem", "no certificate")
	token := filepath.Join(s.dir, "secret")
	for _, command := range []string{"check --user u_1 docs.files.read", "grant list"} {
		at := func(url string, more ...string) []string {
			return append(append(strings.Fields(command), "--url", url, "--token-file", token), more...)
		}
		if _, errs, code := s.say("", at(base)...); code != exitFailure || !strings.Contains(errs, "name the file of the right authority with --ca-file") {
			t.Errorf("%s without --ca-file: exit %d, %s", command, code, errs)
		}
		if _, errs, code := s.say("", at(base, "--ca-file", ca)...); code != 0 {
			t.Errorf("%s with --ca-file: exit %d, %s", command, code, errs)
		}
		for want, args := range map[string][]string{
			"holds no certificate in PEM":   at(base, "--ca-file", bad),
			"no such file":                  at(base, "--ca-file", filepath.Join(s.dir, "none.pem")),
			"is not":                        at(s.base, "--ca-file", ca),
			"it is empty":                   at(base, "--ca-file", ""),
			"--ca-file goes with --url or ": append(strings.Fields(command), "--socket", s.socket, "--ca-file", ca),
		} {
			if _, errs, code := s.say("", args...); code != exitUsage || !strings.Contains(errs, want) {
				t.Errorf("authz %s: exit %d, %s", strings.Join(args, " "), code, errs)
			}
		}
	}
}

// A login keeps the file: what follows it needs no flag.
func TestTheHostedAPIWithACertificateOfOnesOwn(t *testing.T) {
	x := newTenant(t)
	base, ca := behindTLS(t, x.base)
	x.failsWith(x.key+"\n", exitFailure, "--ca-file", "login", "--url", base, "--org", "acme")
	if out, errs, code := x.say(x.key+"\n", "login", "--url", base, "--org", "acme", "--ca-file", ca); code != 0 {
		t.Fatalf("login: exit %d\n%s%s", code, out, errs)
	}
	x.shows("boss", "whoami")
	x.works("seat", "list", "--org", "acme")
	key := x.write("key", x.key)
	x.fails(exitFailure, "--ca-file", "seat", "list", "--org", "acme", "--url", base, "--token-file", key)
	x.works("seat", "list", "--org", "acme", "--url", base, "--token-file", key, "--ca-file", ca)
	x.fails(exitUsage, "--ca-file goes with --url or --org", "role", "list", "--ca-file", ca, "--socket", x.socket)
}
