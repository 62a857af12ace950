package directory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

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

// TestARunThatDiesAtAnyCommitIsMadeWholeByTheNext: the rows take three commits, the
// state one more.
func TestARunThatDiesAtAnyCommitIsMadeWholeByTheNext(t *testing.T) {
	ids := make([]string, 41_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("p%05d", i)
	}
	slices.Reverse(ids)
	const commits = 4
	for survived := range commits + 1 {
		t.Run(fmt.Sprintf("after %d commits", survived), func(t *testing.T) {
			w := newWorld(t)
			w.importer.does(func(_ context.Context, _ sdk.Request, yield func(sdk.Entry, error) bool) {
				ok := yield(sdk.Begin{Datasets: []sdk.ImporterCapability{sdk.CapUsers, sdk.CapMemberships, sdk.CapGroups}}, nil) && yield(sdk.Group{ID: "g", Name: "G"}, nil)
				for _, id := range ids {
					ok = ok && yield(sdk.User{UserID: id}, nil) && yield(sdk.Membership{UserID: id, Groups: []string{"g"}}, nil)
				}
				_ = ok && yield(sdk.End{Cursor: "c"}, nil)
			})
			vocabulary, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}})
			must(t, err)
			mortal := &dying{Store: w.store, left: survived}
			doomed, err := application.New(t.Context(), application.Options{Catalog: vocabulary, Store: mortal})
			must(t, err)
			defer doomed.Close()
			d := w.open(func(o *directory.Options) {
				o.Store, o.Application = mortal, func() directory.Application { return doomed }
			})
			_, err = d.Run(t.Context(), directory.Request{})
			if (err == nil) != (survived >= commits-1) {
				t.Fatalf("%v", err)
			}
			resumes := w.open().Status(t.Context()).Resumes
			if resumes != (survived == commits) {
				t.Errorf("the next run resumes: %v", resumes)
			}
			_, err = w.open().Run(t.Context(), directory.Request{Full: true}) // the next host
			must(t, err)
			users := 0
			for u, err := range w.store.ListUsers(t.Context(), storage.UserFilter{}, storage.Page{}) {
				must(t, err)
				users++
				if !u.Active || !cmp.Equal(u.GroupIDs, []string{"g"}) {
					t.Fatalf("%+v", u)
				}
			}
			if users != len(ids) {
				t.Errorf("%d users, want %d", users, len(ids))
			}
		})
	}
}
