package main

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// A link is of the host's public address, and of nothing that the key or the socket opens.
func (x *tenant) linked(t *testing.T, out, path string, query url.Values) {
	t.Helper()
	at, err := url.Parse(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	if got := at.Scheme + "://" + at.Host; got != x.base || at.Path != path || at.Query().Encode() != query.Encode() || at.User != nil || at.Fragment != "" {
		t.Errorf("the link is %s\nwant %s%s?%s", at, x.base, path, query.Encode())
	}
	if strings.Contains(out, x.key) {
		t.Error("the link holds the key")
	}
}

func TestLinksOfExplanations(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	question := []string{"--user", "ann lee&co", "docs.files.read", "docs.folder:d 1"}
	query := url.Values{"user": {"ann lee&co"}, "key": {"docs.files.read"}, "scope": {"docs.folder:d 1"}}
	x.works("scope", "parents", "docs.folder:d 1", "--none", "--socket", x.socket)
	const screen = "/dashboard/orgs/acme/explain"

	// Over the socket: no org has linked the application yet.
	x.fails(1, "no org of this host has the application: 'authz application link docs local:docs --org ORG' links it", append([]string{"explain", "--socket", x.socket, "--link"}, question...)...)
	if out := x.works(append([]string{"explain", "--socket", x.socket}, question...)...); strings.Contains(out, "/dashboard/") {
		t.Errorf("an org that has not linked the application explains nothing of it:\n%s", out)
	}
	x.founds("POST", "/orgs/acme/applications/docs/link", fields{"relayUrl": "local:docs"}, nil)
	x.linked(t, x.works(append([]string{"explain", "--socket", x.socket, "--link"}, question...)...), screen, query)

	// A denial ends with it, an answer that is yes does not.
	last := func(out string) string {
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return strings.TrimPrefix(lines[len(lines)-1], "explained: ")
	}
	x.linked(t, last(x.works(append([]string{"explain", "--socket", x.socket}, question...)...)), screen, query)
	out, errs, code := x.say("", append([]string{"check", "--socket", x.socket}, question...)...)
	if code != 0 || out != "DENIED\n" {
		t.Errorf("check: %d %q", code, out)
	}
	x.linked(t, last(errs), screen, query)
	if out := x.works("explain", "--socket", x.socket, "--user", "boss", "authz_internal.access.read"); strings.Contains(out, "/dashboard/") {
		t.Errorf("nobody asked why:\n%s", out)
	}
	if out := x.works(append([]string{"explain", "--socket", x.socket, "-o", "json"}, question...)...); strings.Contains(out, "/dashboard/") {
		t.Errorf("JSON is the answer and nothing else:\n%s", out)
	}

	// Over the hosted API, as JSON, of a service, everywhere.
	var told linkedResult
	if err := json.Unmarshal([]byte(x.works("explain", "--org", "acme", "--service", "ci", "authz_internal.access.read", "--link", "-o", "json")), &told); err != nil || len(told.Links) != 1 {
		t.Fatalf("%+v, %v", told, err)
	}
	x.linked(t, told.Links[0], screen, url.Values{"service": {"ci"}, "key": {"authz_internal.access.read"}, "scope": {"*"}})
	x.linked(t, last(x.works("explain", "--org", "acme", "--user", "ann", "authz_internal.access.read")), screen,
		url.Values{"user": {"ann"}, "key": {"authz_internal.access.read"}, "scope": {"*"}})

	x.fails(2, "leave --with and --without out", append([]string{"explain", "--socket", x.socket, "--link", "--with", "grant user:ann docs.files.read *"}, question...)...)
	x.fails(2, "the provider API knows no dashboard", append([]string{"explain", "--url", x.base + "/apps/docs", "--token-file", "docs.secret", "--link"}, question...)...)
}

func TestLinksOfRequests(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	x.founds("POST", "/orgs/acme/applications/docs/link", fields{"relayUrl": "local:docs"}, nil)
	at := x.works("request", "submit", "--as", "ann", "--pattern", "docs.files.read", "docs.folder:a", "--socket", x.socket, "--link")
	link, err := url.Parse(strings.TrimSpace(at))
	if err != nil {
		t.Fatal(err)
	}
	path, home := link.Path, url.Values{"from": {"docs"}} // at a scope, so of the application
	id := path[strings.LastIndex(path, "/")+1:]
	x.linked(t, at, "/dashboard/orgs/acme/requests/"+id, home)
	x.linked(t, x.works("request", "show", id, "--socket", x.socket, "--link"), path, home)
	x.linked(t, x.works("request", "show", id, "--org", "acme", "--app", "docs", "--link"), path, home)
	x.linked(t, x.works("request", "cancel", id, "--as", "ann", "--socket", x.socket, "--link"), path, home)
}

func TestARefusalIsExplainedInTheDashboard(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	x.founds("POST", "/orgs/acme/applications/docs/link", fields{"relayUrl": "local:docs"}, nil)
	x.works("revoke", "create", "boss", "authz_internal.access.manage_groups", "--socket", x.socket)
	out, errs, code := x.say("", "group", "create", "Staff", "--org", "acme")
	if code == 0 {
		t.Fatalf("it is not refused:\n%s", out)
	}
	_, link, found := strings.Cut(strings.TrimSpace(errs), "It is explained at ")
	if !found {
		t.Fatalf("the refusal says nothing of the dashboard:\n%s", errs)
	}
	x.linked(t, link, "/dashboard/orgs/acme/explain", url.Values{"user": {"boss"}, "key": {"authz_internal.access.manage_groups"}, "scope": {"*"}})
}

func TestNoLinkWithoutADashboard(t *testing.T) {
	x := newTenantWith(t, func(text string) string { return text + "  dashboard: false\n" })
	x.logsIn()
	x.founds("POST", "/orgs/acme/applications/docs/link", fields{"relayUrl": "local:docs"}, nil)
	for _, way := range [][]string{{"--socket", x.socket}, {"--org", "acme"}} {
		x.fails(1, "there is no dashboard for it", append([]string{"explain", "--user", "ann", "authz_internal.access.read", "--link"}, way...)...)
		if out := x.works(append([]string{"explain", "--user", "ann", "authz_internal.access.read"}, way...)...); strings.Contains(out, "explained: ") {
			t.Errorf("%v: a link into nothing:\n%s", way, out)
		}
	}
}
