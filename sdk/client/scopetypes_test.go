package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// slipped is a scope whose type is one letter away from docs.folder.
const slipped = "docs.foldr:1"

// typedWorld declares docs.folder and docs.doc; u holds docs.files.read everywhere and a
// row at the scope that slipped, of a catalog that once was.
func typedWorld() vectors.World {
	return vectors.World{Now: 1_700_000_000_000,
		Grants: []authz.Grant{
			{ID: "g1", Subject: "user:u", Pattern: "docs.files.read", Scope: authz.Global, Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}},
			{ID: "g2", Subject: "user:u", Pattern: "docs.files.list", Scope: slipped, Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}}},
		Catalog: []byte(`{"namespaces":["docs"],"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.doc":{}},"permissions":{
			"docs.files.read":{"scopes":["docs.folder","docs.doc"]},"docs.files.list":{"scopes":["docs.folder"],"impliedOnAncestors":true},
			"docs.files.pay":{"scopes":["docs.doc"],"requiresCondition":true}}}`)}
}

// everyShape asks at the scope in every way that takes one.
func everyShape(ctx context.Context, c *client.Client, scope string) map[string]error {
	u := authz.UserPrincipal("u")
	const key = "docs.files.read"
	found := map[string]error{}
	told := func(shape string, err error) { found[shape] = err }
	_, err := c.Can(ctx, u, key, scope)
	told("can", err)
	_, err = c.CanFresh(ctx, u, key, scope)
	told("fresh", err)
	told("require", c.Require(ctx, u, key, scope))
	any2 := client.Gate{Keys: []string{"docs.files.list", key}, Scope: scope}
	_, err = c.Check(ctx, u, any2)
	told("check", err)
	told("requireGate", c.RequireGate(ctx, u, any2))
	_, err = c.Explain(ctx, u, key, scope)
	told("explain", err)
	_, err = c.Snapshot(ctx, u, client.SnapshotOptions{Scopes: []string{scope}})
	told("snapshot", err)
	s, err := c.Snapshot(ctx, u, client.SnapshotOptions{})
	if err != nil {
		told("a snapshot of the rows alone", err)
		return found
	}
	told("resolve", s.Resolve(ctx, scope))
	_, err = s.Can(key, scope)
	told("snapshot can", err)
	told("snapshot require", s.Require(key, scope))
	_, err = s.Check(any2)
	told("snapshot check", err)
	_, err = s.Explain(key, scope)
	told("snapshot explain", err)
	session, err := c.Session(ctx, "u", nil)
	if err != nil {
		told("a session", err)
		return found
	}
	_, err = session.Can(ctx, key, scope)
	told("session can", err)
	both, err := session.Snapshot(ctx, client.SnapshotOptions{})
	if err != nil {
		told("a session's snapshot", err)
		return found
	}
	_, err = both.Can(key, scope)
	told("session snapshot can", err)
	return found
}

func TestUnderErrorAScopeTypeThatIsNotDeclaredIsAMistakeOnEveryShape(t *testing.T) {
	_, c := attachWith(t, typedWorld(), func(o *client.Options) { o.UnknownScopeTypes = client.ScopeTypeError })
	for range 2 { // the second time the row's own chain is cached
		for shape, err := range everyShape(t.Context(), c, slipped) {
			var unknown *authz.UnknownScopeTypeError
			if !errors.As(err, &unknown) {
				t.Errorf("%s: %v", shape, err)
				continue
			}
			if d := cmp.Diff(&authz.UnknownScopeTypeError{Scope: slipped, ScopeType: "docs.foldr", DidYouMean: []string{"docs.folder"},
				DeclaredTypes: []string{"docs.doc", "docs.folder"}, Message: unknown.Message}, unknown); d != "" {
				t.Errorf("%s: %s", shape, d)
			}
			if !strings.Contains(unknown.Message, `Did you mean "docs.folder"?`) {
				t.Errorf("%s: %s", shape, unknown.Message)
			}
		}
	}
	if named := c.Statistics().UnknownScopeTypes; named != 28 {
		t.Errorf("%d questions were counted", named)
	}
}

// Who is denied whatever they ask learns of the mistake too, as of a mistyped key.
func TestAnInactivePrincipalLearnsOfAMistypedScope(t *testing.T) {
	w := typedWorld()
	w.Users = append(w.Users, vectors.WorldUser{UserID: "u", Active: new(bool)})
	_, c := attachWith(t, w, func(o *client.Options) { o.UnknownScopeTypes = client.ScopeTypeError })
	for shape, err := range everyShape(t.Context(), c, slipped) {
		if unknown := new(authz.UnknownScopeTypeError); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", shape, err)
		}
	}
}

func TestWhatUnknownScopeTypesAreNot(t *testing.T) {
	without := typedWorld()
	without.Catalog = []byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":{},"docs.files.list":{}}}`)
	for name, c := range map[string]struct {
		world  vectors.World
		scopes []string
	}{
		"declared":                      {typedWorld(), []string{"docs.doc:1", "docs.doc:a:b"}},
		"the global scope":              {typedWorld(), []string{"", authz.Global}},
		"no type":                       {typedWorld(), []string{"foo", ":x", "docs.folder:"}},
		"a catalog without scope types": {without, []string{slipped, "x:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, cl := attachWith(t, c.world, func(o *client.Options) { o.UnknownScopeTypes = client.ScopeTypeError })
			for _, scope := range c.scopes {
				for shape, err := range everyShape(t.Context(), cl, scope) {
					unresolved := new(authz.UnresolvedScopeError)
					if err != nil && !errors.As(err, &unresolved) {
						t.Errorf("%s at %q: %v", shape, scope, err)
					}
				}
			}
			if named := cl.Statistics().UnknownScopeTypes; named != 0 {
				t.Errorf("%d were counted", named)
			}
		})
	}
}

// Nothing is fetched for a question that is a mistake.
func TestAMistypedScopeIsToldBeforeAnythingIsFetched(t *testing.T) {
	app, _ := attachWith(t, typedWorld(), func(*client.Options) {})
	counting := &countingSource{Source: app}
	c, err := client.New(client.Options{Provider: counting, Catalog: app.Catalog(), UnknownScopeTypes: client.ScopeTypeError})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Can(t.Context(), authz.UserPrincipal("u"), "docs.files.read", slipped); err == nil {
		t.Error("no error")
	}
	if counting.asked != 0 {
		t.Errorf("the provider was asked %d times", counting.asked)
	}
}

type countingSource struct {
	client.Source
	asked int
}

func (s *countingSource) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	s.asked++
	return s.Source.GetSubjectAccess(ctx, p)
}

func (s *countingSource) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	s.asked++
	return s.Source.ResolveAncestors(ctx, scope)
}

func TestUnderAnswerEachScopeTypeIsReportedOnceAndCounted(t *testing.T) {
	var seen []client.UnknownScopeType
	_, c := attachWith(t, typedWorld(), func(o *client.Options) {
		o.OnUnknownScopeType = func(u client.UnknownScopeType) { seen = append(seen, u) }
	})
	u := authz.UserPrincipal("u")
	for _, scope := range []string{slipped, "docs.foldr:2", slipped, "ghost:1", slipped} {
		for key, want := range map[string]bool{"docs.files.read": true, "docs.files.list": false} {
			if allowed, err := c.Can(t.Context(), u, key, scope); allowed != want || err != nil {
				t.Errorf("%s at %s: %v, %v", key, scope, allowed, err)
			}
		}
	}
	want := []client.UnknownScopeType{{ScopeType: "docs.foldr", Scope: slipped, DidYouMean: []string{"docs.folder"}, Shape: "can"},
		{ScopeType: "ghost", Scope: "ghost:1", DidYouMean: []string{}, Shape: "can"}}
	if d := cmp.Diff(want, seen); d != "" {
		t.Error(d)
	}
	if named := c.Statistics().UnknownScopeTypes; named != 10 {
		t.Errorf("%d questions were counted", named)
	}
}

func TestOnlySoManyScopeTypesAreRemembered(t *testing.T) {
	seen := 0
	_, c := attachWith(t, typedWorld(), func(o *client.Options) { o.OnUnknownScopeType = func(client.UnknownScopeType) { seen++ } })
	for i := range 1100 {
		if _, err := c.Explain(t.Context(), authz.UserPrincipal("u"), "docs.files.read", fmt.Sprintf("ghost%d:1", i)); err != nil {
			t.Fatal(err)
		}
	}
	if named := c.Statistics().UnknownScopeTypes; seen != 1024 || named != 1100 {
		t.Errorf("%d reported, %d counted", seen, named)
	}
}

// Without a callback the library itself says it.
func TestAnUnknownScopeTypeIsLogged(t *testing.T) {
	var log testlog.Log
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	_, c := attachWith(t, typedWorld(), func(*client.Options) {})
	for range 3 {
		if _, err := c.Can(t.Context(), authz.UserPrincipal("u"), "docs.files.read", slipped); err != nil {
			t.Fatal(err)
		}
	}
	if said := log.String(); strings.Count(said, "docs.foldr") != 2 || !strings.Contains(said, "docs.folder") { // the type, and in the scope
		t.Errorf("the log: %s", said)
	}
}

// A view of the client with another policy shares its caches and its count.
func TestAClientWithAnotherPolicyForScopeTypes(t *testing.T) {
	_, c := attachWith(t, typedWorld(), func(o *client.Options) { o.OnUnknownScopeType = func(client.UnknownScopeType) {} })
	u := authz.UserPrincipal("u")
	mustAnswer(t, "can", true)(c.Can(t.Context(), u, "docs.files.read", slipped))
	if _, err := c.WithUnknownScopeTypes(client.ScopeTypeError).Can(t.Context(), u, "docs.files.read", slipped); err == nil {
		t.Error("no error")
	}
	mustAnswer(t, "can", true)(c.Can(t.Context(), u, "docs.files.read", slipped))
	if named := c.Statistics().UnknownScopeTypes; named != 3 {
		t.Errorf("%d questions were counted", named)
	}
}

// Knowing the type costs a check neither memory nor a lock.
func TestACheckAtADeclaredScopeTypeAllocatesNothing(t *testing.T) {
	_, c := attachWith(t, typedWorld(), func(o *client.Options) { o.UnknownScopeTypes = client.ScopeTypeError })
	u := authz.UserPrincipal("u")
	s, err := c.Snapshot(t.Context(), u, client.SnapshotOptions{Scopes: []string{"docs.doc:1"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() (bool, error){
		"can":          func() (bool, error) { return c.Can(t.Context(), u, "docs.files.read", "docs.doc:1") },
		"snapshot can": func() (bool, error) { return s.Can("docs.files.read", "docs.doc:1") },
	} {
		mustAnswer(t, name, true)(ask())
		if n := testing.AllocsPerRun(100, func() { _, _ = ask() }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
