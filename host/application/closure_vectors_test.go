package application_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

type closureWorld struct {
	Now     int64             `json:"now"`
	Catalog json.RawMessage   `json:"catalog"`
	Roles   []authz.Role      `json:"roles"`
	Groups  []authz.Group     `json:"groups"`
	Users   []json.RawMessage `json:"users"` // active unless they say otherwise
	Grants  []authz.Grant     `json:"grants"`
	Revokes []authz.Revoke    `json:"revokes"`
	Cases   []struct {
		Principal authz.Principal `json:"principal"`
		Expect    json.RawMessage `json:"expect"`
	} `json:"cases"`
}

func (w closureWorld) load(t *testing.T, store storage.Store) {
	t.Helper()
	c := storage.Commit{ID: "world", At: w.Now}
	for _, r := range w.Roles {
		c.Changes = append(c.Changes, storage.UpsertRole{Role: r})
	}
	for _, g := range w.Groups {
		c.Changes = append(c.Changes, storage.UpsertGroup{Group: g})
	}
	for _, raw := range w.Users {
		var u authz.User
		given := struct{ Active *bool }{}
		must(t, json.Unmarshal(raw, &u))
		must(t, json.Unmarshal(raw, &given))
		u.Active = given.Active == nil || *given.Active
		c.Changes = append(c.Changes, storage.UpsertUser{User: u})
	}
	for _, g := range w.Grants {
		g.Provenance = authz.Provenance{Kind: authz.ProvenanceSystem}
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: g})
	}
	for _, r := range w.Revokes {
		r.Provenance = authz.Provenance{Kind: authz.ProvenanceSystem}
		c.Changes = append(c.Changes, storage.InsertRevoke{Revoke: r})
	}
	_, err := store.Commit(context.Background(), c)
	must(t, err)
}

func TestVectorsSubjectClosure(t *testing.T) {
	vectors.Replay(t, "subject-closure.jsonl", nil, func(t *testing.T, w closureWorld) {
		store := openStore(t)
		w.load(t, store)
		for name, s := range map[string]storage.Store{
			"the driver expands": store,
			"the host expands":   lacking.Store(store, storage.CapExpand),
		} {
			app := newApp(t, application.Options{Store: s, Clock: func() int64 { return w.Now }})
			for _, c := range w.Cases {
				access, err := app.GetSubjectAccess(t.Context(), c.Principal)
				must(t, err)
				got, err := json.Marshal(scripts.Reduced(access))
				must(t, err)
				if diff := cmp.Diff(scripts.Decoded(t, c.Expect), scripts.Decoded(t, got)); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", name, c.Principal, diff)
				}
			}
		}
	})
}
