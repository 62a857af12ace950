package application_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// A cold check is one read of storage, however deep its scope lies.
func TestAccessAtIsOneReadAtAnyDepth(t *testing.T) {
	for _, depth := range []int{1, 5, 20, 500} {
		for name, reads := range map[string]struct {
			store storage.Store
			want  int
		}{"in one read": {openStore(t), 1}, "by levels": {byLevels{openStore(t)}, depth + 2}} {
			counting := &levels{Store: reads.store}
			app := newApp(t, application.Options{Store: counting, Ancestry: application.Stored(counting)})
			for i := range depth {
				_, err := app.SetScopeParents(t.Context(), []provider.ScopeParents{under(fmt.Sprint("docs.folder:", i), fmt.Sprint("docs.folder:", i+1))}, root)
				must(t, err)
			}
			_, err := app.SetScopeParents(t.Context(), []provider.ScopeParents{under(fmt.Sprint("docs.folder:", depth))}, root)
			must(t, err)
			for _, p := range []authz.Principal{{UserID: "u"}, {ServiceID: "s"}} {
				counting.reads = 0
				got, err := app.AccessAt(t.Context(), p, "docs.folder:0")
				must(t, err)
				must(t, got.AncestorsErr)
				if counting.reads != reads.want || len(got.Ancestors) != depth+1 {
					t.Errorf("%s, depth %d, %v: %d reads, %d ancestors", name, depth, p, counting.reads, len(got.Ancestors))
				}
			}
		}
	}
}

// Together they are what they are one after the other, failures included.
func TestAccessAtEqualsTheTwoCalls(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	scope := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"docs.folder:", "docs.doc:", "docs.tag:", "docs.workspace:"}).Draw(t, "type") + fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "n"))
	})
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(0, 6).Draw(rt, "writes") {
			parents := rapid.SliceOfNDistinct(scope, 0, 3, rapid.ID[string]).Draw(rt, "parents")
			entry := provider.ScopeParents{Scope: scope.Draw(rt, "scope"), Parents: &parents}
			_, _ = app.SetScopeParents(t.Context(), []provider.ScopeParents{entry}, root) // some cannot be
			in := provider.GrantInput{Subject: rapid.SampledFrom([]string{"user:u", "everyone", "service:s"}).Draw(rt, "subject"), Pattern: "docs.*"}
			_, _ = app.CreateGrant(t.Context(), in, root)
		}
		p := rapid.SampledFrom([]authz.Principal{{UserID: "u"}, {ServiceID: "s"}, {}, {UserID: "u", ServiceID: "s"}}).Draw(rt, "principal")
		at := rapid.OneOf(scope, rapid.SampledFrom([]string{"*", "", "nonsense"})).Draw(rt, "at")
		wantRows, wantErr := app.GetSubjectAccess(t.Context(), p)
		wantAbove, wantAboveErr := app.ResolveAncestors(t.Context(), at)
		got, err := app.AccessAt(t.Context(), p, at)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			rt.Fatalf("got %v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(wantRows, got.Access) {
			rt.Errorf("got %v, want %v", got.Access, wantRows)
		}
		if diff := cmp.Diff(wantAbove, got.Ancestors); diff != "" || fmt.Sprint(got.AncestorsErr) != fmt.Sprint(wantAboveErr) {
			rt.Errorf("%v, want %v\n%s", got.AncestorsErr, wantAboveErr, diff)
		}
	})
}
