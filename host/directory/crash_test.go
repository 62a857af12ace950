package directory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// dying is a store that is gone after some commits.
type dying struct {
	storage.Store
	left int
}

var errGone = errors.New("the host is gone")

func (s *dying) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if s.left == 0 {
		return storage.CommitResult{}, storage.Unavailable(authz.OutcomeNotApplied, errGone, "gone")
	}
	s.left--
	return s.Store.Commit(ctx, c)
}

// TestARunThatDiesAtAnyCommitIsMadeWholeByTheNext: the rows take several commits, for
// their text is longer than one may be, the state one more.
func TestARunThatDiesAtAnyCommitIsMadeWholeByTheNext(t *testing.T) {
	const groups, users = 100, 700
	description := strings.Repeat("d", 16_000)
	read := func(_ context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
		ok := yield(sdk.Begin{Datasets: []sdk.ImporterCapability{sdk.CapUsers, sdk.CapMemberships, sdk.CapGroups}}, nil)
		for i := range groups {
			ok = ok && yield(sdk.Group{ID: fmt.Sprintf("g%03d", i), Name: "G", Description: description}, nil)
		}
		for _, id := range slices.Backward(numbered(users)) {
			ok = ok && yield(sdk.User{UserID: id}, nil) && yield(sdk.Membership{UserID: id, Groups: []string{"g007"}}, nil)
		}
		_ = ok && yield(sdk.End{Cursor: "c"}, nil)
	}
	inTheMiddle := map[string]bool{}
	for survived, resumed := 0, false; !resumed; survived++ {
		t.Run(fmt.Sprintf("after %d commits", survived), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.importer.does(read)
				stand := func() (g, u int) {
					t.Helper()
					for row, err := range w.store.ListGroups(t.Context(), storage.Page{}) {
						must(t, err)
						if g++; row.Name != "G" || row.Description != description {
							t.Fatalf("%.100v", row)
						}
					}
					for row, err := range w.store.ListUsers(t.Context(), storage.UserFilter{}, storage.Page{}) {
						must(t, err)
						if u++; !row.Active || !cmp.Equal(row.GroupIDs, []string{"g007"}) {
							t.Fatalf("%+v", row)
						}
					}
					return g, u
				}
				vocabulary, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}})
				must(t, err)
				mortal := &dying{Store: w.store, left: survived}
				doomed, err := application.New(t.Context(), application.Options{Catalog: vocabulary, Store: mortal})
				must(t, err)
				defer doomed.Close()
				d := w.open(func(o *directory.Options) {
					o.Store, o.Application = mortal, func() directory.Target { return doomed }
				})
				_, err = d.Run(t.Context(), directory.Request{})
				resumed = w.open().Status(t.Context()).Resumes
				g, u := stand()
				inTheMiddle["groups"] = inTheMiddle["groups"] || 0 < g && g < groups && u == 0
				inTheMiddle["people"] = inTheMiddle["people"] || g == groups && 0 < u && u < users
				inTheMiddle["the state"] = inTheMiddle["the state"] || err == nil && !resumed
				if whole := g == groups && u == users; (survived == 0) != (g == 0) || u > 0 && g < groups || (err == nil) != whole || resumed && err != nil || survived > 50 {
					t.Fatalf("%d groups and %d users stand, the next run resumes: %v: %v", g, u, resumed, err)
				}
				_, err = w.open().Run(t.Context(), directory.Request{Full: true}) // the next host
				must(t, err)
				if g, u := stand(); g != groups || u != users {
					t.Errorf("%d groups and %d users, want %d and %d", g, u, groups, users)
				}
			})
		})
		if t.Failed() {
			return
		}
	}
	if len(inTheMiddle) != 3 || !inTheMiddle["groups"] || !inTheMiddle["people"] || !inTheMiddle["the state"] {
		t.Errorf("not every place was met: %v", inTheMiddle)
	}
}
