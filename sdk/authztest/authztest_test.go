package authztest_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/provider"
)

var (
	update  = flag.Bool("update", false, "write the golden files")
	instant = regexp.MustCompile(`until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

const team = `
	grant  group:staff role editor docs.folder:team   # before the role it names
	role   editor docs.files.*
	role   office docs.files.read docs.bills.read
	group  staff
	group  writers staff
	scope  docs.doc:plan parents docs.folder:team
	scope  docs.doc:draft parents docs.folder:team
	user   ann groups writers
	user   ben manager ann
	user   eve groups staff
	user   eve inactive
	grant  directs:ann docs.files.read docs.folder:team
	grant  service:importer docs.files.edit docs.folder:team until 8h
	grant  user:gus role office docs.folder:team
	revoke ann docs.files.edit docs.doc:draft
`

func world(t testing.TB) *authztest.World {
	return authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), team)
}

func TestAWorldAnswersAsItsRowsSay(t *testing.T) {
	w := world(t)
	w.Can("user:ann", "docs.files.edit", "docs.doc:plan")
	w.Cannot("user:ann", "docs.files.edit", "docs.doc:draft")
	w.Can("user:ben", "docs.files.read", "docs.doc:plan")
	w.Cannot("user:eve", "docs.files.read", "docs.doc:plan")
	w.Can("service:importer", "docs.files.edit", "docs.folder:team")
	w.Reason("user:ann", "docs.files.edit", "docs.doc:plan", provider.ReasonGranted)
	w.Reason("user:ann", "docs.files.edit", "docs.doc:draft", provider.ReasonRevoked)
	w.Reason("user:eve", "docs.files.read", "docs.doc:plan", provider.ReasonInactive)
	w.WhoCan("docs.files.edit", "docs.doc:plan", "user:ann", "service:importer")
	w.WhereCan("user:ann", "docs.files.edit", "docs.folder:team", "docs.doc:plan")
	w.WhatCan("user:ann", "docs.doc:draft", "docs.files.read")

	w.Advance(9 * time.Hour)
	w.Reason("service:importer", "docs.files.edit", "docs.folder:team", provider.ReasonExpired)

	w.Write("grant everyone docs.bills.read")
	w.WhoCan("docs.bills.read", "", "everyone", "not user:eve")

	ok, err := w.Client().Can(t.Context(), authz.UserPrincipal("ann"), "docs.files.edit", "docs.doc:plan")
	if !ok || err != nil {
		t.Errorf("the client answers %v, %v", ok, err)
	}
}

// user:ann for ann would be denied, and the test would not be told why.
func TestAPrincipalNamesTheBareID(t *testing.T) {
	w := world(t)
	for scope, p := range map[string]authz.Principal{
		"":              authz.UserPrincipal("user:ann"),
		"docs.doc:plan": authz.ServicePrincipal("service:importer"),
	} {
		var invalid *authz.InvalidPrincipalError
		_, err := w.Client().Can(t.Context(), p, "docs.files.edit", scope)
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "a principal names the bare id: write "+strings.Split(p.Subject(), ":")[2]) {
			t.Errorf("%s: %v", p, err)
		}
	}
	w.Write("user auth0:ann groups staff") // is an id that somebody has
	w.Can("user:auth0:ann", "docs.files.edit", "docs.doc:plan")
}

func TestAWorldOfAFileForApply(t *testing.T) {
	w := authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), "")
	w.Apply("testdata/access.yaml")
	w.Write("user ann groups writers")
	w.Can("user:ann", "docs.files.edit", "docs.folder:team")
	w.Write("grant user:ben role editor docs.folder:b")
	w.WhoCan("docs.files.edit", "docs.folder:team", "user:ann")
}

func TestAResolverOfTheApplication(t *testing.T) {
	w := authztest.New(t, authztest.Catalog(t, "testdata/catalog.yaml"), "grant user:ann docs.files.* docs.folder:team",
		authztest.Ancestors(func(_ context.Context, scope string) ([]string, error) {
			if scope == "docs.doc:plan" {
				return []string{"docs.folder:team"}, nil
			}
			return nil, nil
		}))
	w.Can("user:ann", "docs.files.edit", "docs.doc:plan")
}

func TestAnOutageIsNoAnswer(t *testing.T) {
	w := world(t)
	w.CutOff()
	var outage *authz.UnavailableError
	if ok, err := w.Client().Can(t.Context(), authz.UserPrincipal("ann"), "docs.files.edit", "docs.doc:plan"); ok || !errors.As(err, &outage) {
		t.Errorf("answered %v, %v", ok, err)
	}
}

func TestAWorldIsAskedConcurrently(t *testing.T) {
	w := world(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			w.Can("user:ann", "docs.files.edit", "docs.doc:plan")
			w.Write("grant user:ann docs.bills.read")
			w.Advance(time.Minute)
			w.Can("user:ann", "docs.bills.read", "")
		})
	}
	all.Wait()
}

// What a failing test says is what somebody reads who did not write it.
func TestFailures(t *testing.T) {
	for name, test := range map[string]func(w *authztest.World){
		"denied":        func(w *authztest.World) { w.Can("user:hal", "docs.files.edit", "docs.doc:plan") },
		"revoked":       func(w *authztest.World) { w.Can("user:ann", "docs.files.edit", "docs.doc:draft") },
		"not_grantable": func(w *authztest.World) { w.Can("user:gus", "docs.bills.read", "") },
		"allowed":       func(w *authztest.World) { w.Cannot("user:ann", "docs.files.edit", "docs.doc:plan") },
		"reason": func(w *authztest.World) {
			w.Reason("user:eve", "docs.files.read", "docs.doc:plan", provider.ReasonNoGrant)
		},
		"who": func(w *authztest.World) { w.WhoCan("docs.files.edit", "docs.doc:plan", "user:ann", "user:ben") },
		"where": func(w *authztest.World) {
			w.WhereCan("user:ann", "docs.files.edit", "docs.doc:draft", "docs.folder:team")
		},
		"what":           func(w *authztest.World) { w.WhatCan("user:ann", "docs.doc:draft", "docs.files.edit") },
		"unknown_key":    func(w *authztest.World) { w.Cannot("user:ann", "docs.files.raed", "docs.doc:plan") },
		"unknown_type":   func(w *authztest.World) { w.Cannot("user:ann", "docs.files.read", "docs.dok:plan") },
		"unrecorded":     func(w *authztest.World) { w.Cannot("user:ann", "docs.files.read", "docs.doc:new") },
		"bare_id":        func(w *authztest.World) { w.Cannot("ann", "docs.files.read", "docs.doc:plan") },
		"group_asked":    func(w *authztest.World) { w.Can("group:staff", "docs.files.read", "docs.doc:plan") },
		"kind":           func(w *authztest.World) { w.Write("\n  grnt user:ann docs.files.read\n  rolle x") },
		"form":           func(w *authztest.World) { w.Write("grant user:ann role") },
		"subject":        func(w *authztest.World) { w.Write("grant usr:ann docs.files.read") },
		"role":           func(w *authztest.World) { w.Write("grant user:ann role editr") },
		"group":          func(w *authztest.World) { w.Write("grant group:stuff role editor") },
		"member":         func(w *authztest.World) { w.Write("user ann groups stuff") },
		"pattern":        func(w *authztest.World) { w.Write("role reader docs.files.raed") },
		"past":           func(w *authztest.World) { w.Write("grant user:ann docs.files.read until 2020-01-01") },
		"time":           func(w *authztest.World) { w.Write("grant user:ann docs.files.read until tomorrow") },
		"user_kind":      func(w *authztest.World) { w.Write("user user:ann groups staff") },
		"user_parent":    func(w *authztest.World) { w.Write("user ann manager user:ben") },
		"user_member":    func(w *authztest.World) { w.Write("user ann groups group:staff") },
		"scope_word":     func(w *authztest.World) { w.Write("scope docs.doc:new parent docs.folder:team") },
		"scope_type":     func(w *authztest.World) { w.Write("scope docs.doc:new parents docs.foldr:team") },
		"user_word":      func(w *authztest.World) { w.Write("user ann group staff") },
		"group_kind":     func(w *authztest.World) { w.Write("group group:readers") },
		"revoke_kind":    func(w *authztest.World) { w.Write("revoke user:ann docs.files.read docs.folder:team") },
		"grant_kinds":    func(w *authztest.World) { w.Write("grant user:user:ann docs.files.read") },
		"kinds_asked":    func(w *authztest.World) { w.Cannot("user:user:ann", "docs.files.edit", "docs.doc:plan") },
		"scope":          func(w *authztest.World) { w.Write("revoke ann docs.files.read docs.folder") },
		"file":           func(w *authztest.World) { w.WriteFile("testdata/wrong.rows") },
		"apply_repeated": func(w *authztest.World) { w.Apply("testdata/access.yaml") },
		"outage":         func(w *authztest.World) { w.CutOff(); w.Cannot("user:ann", "docs.files.read", "docs.doc:plan") },
	} {
		t.Run(name, func(t *testing.T) {
			got := failing(t, func(t testing.TB) { test(world(t)) })
			golden(t, name, got)
		})
	}
	t.Run("catalog", func(t *testing.T) {
		golden(t, "catalog", failing(t, func(t testing.TB) {
			authztest.ParseCatalog(t, "namespaces: [docs]\npermissions:\n  docs.files.read: {scops: [docs.folder]}\n  docs: true\n")
		}))
	})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = instant.ReplaceAllString(got, "until INSTANT")
	file := filepath.Join("testdata", "failures", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == "" || !strings.HasSuffix(got, "\n") {
		t.Errorf("the failure says %q", got)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("go test ./sdk/authztest -run Failures -update: %s", d)
	}
}
