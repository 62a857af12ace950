package application_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func answering(chain ...string) application.Ancestry {
	return application.AncestryFunc(func(context.Context, string) ([]string, error) { return chain, nil })
}

func TestTheGuardAroundTheResolver(t *testing.T) {
	failure := errors.New("the tree is on fire")
	for _, c := range []struct {
		sentence string
		scope    string
		ancestry application.Ancestry
		want     []string
		code     authz.Code
		message  string
	}{
		{"a type nested under another type cannot answer nothing", "docs.doc:1", answering(), nil, authz.CodeUnsupported, `the ancestry resolver returned no ancestors for "docs.doc:1", but the catalog declares "docs.doc" nested under "docs.folder", `},
		{"no resolver answers nothing", "docs.doc:1", nil, nil, authz.CodeUnsupported, "the ancestry resolver returned no ancestors"},
		{"a nested instance may be a root explicitly", "docs.doc:1", answering("*"), []string{"*"}, "", ""},
		{"the answer is returned as given", "docs.doc:1", answering("docs.folder:1", "docs.folder:1", "docs.doc:1"), []string{"docs.folder:1", "docs.folder:1", "docs.doc:1"}, "", ""},
		{"a self-nesting type may answer nothing", "docs.folder:1", answering(), []string{}, "", ""},
		{"a multi-parent type without a parent may answer nothing", "docs.tag:1", answering(), []string{}, "", ""},
		{"a flat type may answer nothing", "docs.org:1", answering(), []string{}, "", ""},
		{"an undeclared type may answer anything", "docs.team:1", answering("docs.org:1"), []string{"docs.org:1"}, "", ""},
		{"a flat type's ancestors are used", "docs.org:1", answering("docs.folder:1", "*"), []string{"docs.folder:1", "*"}, "", ""},
		{"the global scope is not asked about", "*", answering("docs.org:1"), []string{}, "", ""},
		{"what is no scope id is refused", "docs.doc:1", answering("docs.folder:1", "up"), nil, authz.CodeUnsupported, `answered "up"`},
		{"the question is a scope id", "docs.doc", answering("*"), nil, authz.CodeValidation, "scope ids are"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			app := newApp(t, application.Options{Ancestry: c.ancestry})
			got, err := app.ResolveAncestors(t.Context(), c.scope)
			if unknown := new(authz.UnknownScopeError); errors.As(err, &unknown) != (c.sentence == "a type nested under another type cannot answer nothing") {
				t.Errorf("an unknown scope: %v", err)
			}
			if authz.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Fatalf("got %v, want %s %q", err, c.code, c.message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	app := newApp(t, application.Options{Ancestry: application.AncestryFunc(func(context.Context, string) ([]string, error) { return nil, failure })})
	if _, err := app.ResolveAncestors(t.Context(), "docs.doc:1"); !errors.Is(err, failure) {
		t.Errorf("the failure did not pass through: %v", err)
	}
}

func TestContradictionsAreLoggedOncePerType(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Warn})
	app := newApp(t, application.Options{Ancestry: answering("docs.folder:1", "*"), Logger: log})
	for i := range 3 {
		_, err := app.ResolveAncestors(t.Context(), fmt.Sprintf("docs.org:%d", i))
		must(t, err)
	}
	if got := strings.Count(out.String(), "docs.org:0") + strings.Count(out.String(), "docs.org:1"); got != 1 {
		t.Errorf("logged %d times:\n%s", got, &out)
	}
	out.Reset()
	newApp(t, application.Options{Logger: log})
	if !strings.Contains(out.String(), "docs.workspace, docs.folder, docs.doc, docs.tag") {
		t.Errorf("construction without ancestry did not name the hierarchical types:\n%s", &out)
	}
}

func TestParentPointersAreWalkedBreadthFirst(t *testing.T) {
	edges := map[string][]string{
		"docs.doc:1": {"docs.folder:a", "docs.folder:b"}, "docs.folder:a": {"docs.folder:r"}, "docs.folder:b": {"docs.folder:r", "docs.doc:1"},
	}
	walk := application.FromParents(func(_ context.Context, s string) ([]string, error) { return edges[s], nil })
	got, err := walk.Ancestors(t.Context(), "docs.doc:1")
	must(t, err)
	if diff := cmp.Diff([]string{"docs.folder:a", "docs.folder:b", "docs.folder:r", "*"}, got); diff != "" {
		t.Error(diff)
	}
	n := 0
	endless := application.FromParents(func(context.Context, string) ([]string, error) {
		n++
		return []string{fmt.Sprintf("docs.folder:%d", n)}, nil
	})
	if _, err := endless.Ancestors(t.Context(), "docs.doc:1"); err == nil || !strings.HasPrefix(err.Error(), `ancestry of "docs.doc:1" exceeds 10000 levels — parent cycle?`) {
		t.Errorf("got %v", err)
	}
}

// levels counts the reads of recorded parents.
type levels struct {
	storage.Store
	reads int
}

func (s *levels) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	s.reads++
	if len(scopes) > 1000 {
		return nil, storage.Errorf(storage.CodeValidation, "too many scopes")
	}
	return s.Store.GetScopeParents(ctx, scopes)
}

func (s *levels) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	s.reads++
	return s.Store.ReadAccess(ctx, q)
}

// byLevels is a store whose driver answers no ancestors with access.
type byLevels struct{ storage.Store }

func (s byLevels) Info() storage.StoreInfo {
	info := s.Store.Info()
	info.Capabilities = slices.DeleteFunc(slices.Clone(info.Capabilities), func(c storage.Capability) bool { return c == storage.CapAncestors })
	return info
}

func (s byLevels) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if q.Scope != "" {
		return storage.Access{}, storage.Errorf(storage.CodeUnsupported, "asked for ancestors")
	}
	return s.Store.ReadAccess(ctx, q)
}

func TestRecordedAncestry(t *testing.T) {
	t.Run("in one read", func(t *testing.T) { testRecordedAncestry(t, openStore(t), 1) })
	t.Run("by levels", func(t *testing.T) { testRecordedAncestry(t, byLevels{openStore(t)}, 3) })
}

func testRecordedAncestry(t *testing.T, store storage.Store, reads int) {
	counting := &levels{Store: store}
	app := newApp(t, application.Options{Store: counting, Ancestry: application.Stored(counting), IDs: ascending()})
	if !app.HasStoredAncestry() {
		t.Error("the driver can record parents")
	}
	var events []authz.Event
	app.OnInvalidate(func(e authz.Event) { events = append(events, e) })
	record := func(want int, entries ...provider.ScopeParents) {
		t.Helper()
		events = nil
		got, err := app.SetScopeParents(t.Context(), entries, root)
		must(t, err)
		if got != want || len(events) != want {
			t.Fatalf("changed %d and told %d, want %d", got, len(events), want)
		}
	}
	resolve := func(scope string, want ...string) {
		t.Helper()
		got, err := app.ResolveAncestors(t.Context(), scope)
		must(t, err)
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("%s:\n%s", scope, diff)
		}
	}
	if _, err := app.ResolveAncestors(t.Context(), "docs.doc:1"); authz.CodeOf(err) != authz.CodeUnsupported {
		t.Errorf("an unrecorded nested instance: %v", err)
	}
	record(3, under("docs.doc:1", "docs.folder:1"), under("docs.folder:1", "docs.folder:2", "docs.folder:2"), under("docs.folder:2"))
	resolve("docs.folder:2", "*")
	resolve("docs.doc:1", "docs.folder:1", "docs.folder:2", "*")
	resolve("docs.folder:unrecorded")
	counting.reads = 0
	resolve("docs.doc:1", "docs.folder:1", "docs.folder:2", "*")
	if counting.reads != reads {
		t.Errorf("%d reads for three levels", counting.reads)
	}
	record(1, under("docs.doc:1", "docs.folder:1"), under("docs.folder:1"))
	record(0, under("docs.doc:1", "docs.folder:1"))
	record(1, provider.ScopeParents{Scope: "docs.doc:1"})
	record(0, provider.ScopeParents{Scope: "docs.doc:1"})
	if _, err := app.ResolveAncestors(t.Context(), "docs.doc:1"); authz.CodeOf(err) != authz.CodeUnsupported {
		t.Errorf("a forgotten nested instance: %v", err)
	}

	// A chain that needs a parent of docs.workspace:w, which is nested under
	// docs.org, must not end where nobody recorded one.
	record(1, under("docs.folder:9", "docs.workspace:w"))
	if _, err := app.ResolveAncestors(t.Context(), "docs.folder:9"); authz.CodeOf(err) != authz.CodeUnsupported || !strings.Contains(err.Error(), "docs.workspace:w") {
		t.Errorf("a chain with a gap: %v", err)
	}
	record(1, under("docs.workspace:w"))
	resolve("docs.folder:9", "docs.workspace:w", "*")

	entries := rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{Action: ptr("scope.set_parents")}))
	if len(entries) != 5 || entries[0].Target != "bulk" {
		t.Fatalf("audit %v", entries)
	}
	for _, e := range entries[1:] {
		if e.Target == "bulk" {
			t.Errorf("one scope changed, the target is %s", e.Target)
		}
	}
}

// movedMeanwhile changes the rows after the first read of recorded parents.
type movedMeanwhile struct {
	storage.Store
	move func()
}

func (s *movedMeanwhile) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	found, err := s.Store.GetScopeParents(ctx, scopes)
	if move := s.move; move != nil {
		s.move = nil
		move()
	}
	return found, err
}

// The document is below r1 or below b at every instant, and never below a without r1.
func TestRecordedAncestryIsOfOneInstant(t *testing.T) {
	store := &movedMeanwhile{Store: byLevels{openStore(t)}}
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	set := func(entries ...provider.ScopeParents) {
		must(t, setScopeParents(entries...)(t.Context(), app))
	}
	set(under("docs.folder:r1"), under("docs.folder:r2"), under("docs.folder:b"), under("docs.folder:a", "docs.folder:r1"), under("docs.doc:1", "docs.folder:a"))
	store.move = func() {
		set(under("docs.doc:1", "docs.folder:b"))
		set(under("docs.folder:a", "docs.folder:r2"))
	}
	got, err := app.ResolveAncestors(t.Context(), "docs.doc:1")
	must(t, err)
	if diff := cmp.Diff([]string{"docs.folder:b", "*"}, got); diff != "" {
		t.Error(diff)
	}
	parents := []string{"docs.folder:b", "docs.folder:a"} // it is below b now
	var again func()
	again = func() {
		parents[0], parents[1] = parents[1], parents[0]
		set(under("docs.doc:1", parents[0]))
		store.move = again
	}
	store.move = again
	_, err = app.ResolveAncestors(t.Context(), "docs.doc:1")
	isUnavailable("")(t, err) // a scope that never stands still
}

func TestAChainOfTheScopeItselfIsNone(t *testing.T) {
	app := newApp(t, application.Options{Ancestry: application.AncestryFunc(func(_ context.Context, scope string) ([]string, error) {
		return []string{scope}, nil
	})})
	if got, err := app.ResolveAncestors(t.Context(), "docs.doc:1"); authz.CodeOf(err) != authz.CodeUnsupported {
		t.Errorf("the rows at its folder would be missed: %v, %v", got, err)
	}
}

func TestManyTagsOfOneLevelAreReadInPieces(t *testing.T) {
	counting := &levels{Store: openStore(t)}
	app := newApp(t, application.Options{Store: counting, Ancestry: application.Stored(counting)})
	parents := make([]string, 1500)
	for i := range parents {
		parents[i] = fmt.Sprintf("docs.tag:%04d", i)
	}
	_, err := app.SetScopeParents(t.Context(), []provider.ScopeParents{{Scope: "docs.tag:x", Parents: &parents}}, root)
	must(t, err)
	got, err := app.ResolveAncestors(t.Context(), "docs.tag:x")
	must(t, err)
	if len(got) != 1501 {
		t.Errorf("%d ancestors", len(got))
	}
}

func TestABulkEntryOfTheAuditLogIsBounded(t *testing.T) {
	app := newApp(t, application.Options{})
	entries := make([]provider.ScopeParents, 60)
	for i := range entries {
		entries[i] = under(fmt.Sprintf("docs.folder:%d", i))
	}
	must(t, setScopeParents(entries...)(t.Context(), app))
	logged := rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{}))
	var detail struct {
		Count   int
		Entries []provider.ScopeParents
	}
	must(t, json.Unmarshal(logged[0].Detail, &detail))
	if detail.Count != 60 || len(detail.Entries) != 50 {
		t.Errorf("count %d with %d entries", detail.Count, len(detail.Entries))
	}
}

func TestWithoutACapabilityParentsAreNotRecorded(t *testing.T) {
	app := newApp(t, application.Options{Store: lacking.Store(openStore(t), storage.CapAncestry)})
	isRefused(authz.CodeUnsupported)(t, setScopeParents(under("docs.folder:1"))(t.Context(), app))
}
