package client_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/google/go-cmp/cmp"
)

// TestEverySurfaceGivesTheSameAnswer asks every key at every scope of many worlds,
// as every principal, on the client, fresh, on a snapshot, in a session and on its
// snapshot, and as an explanation.
func TestEverySurfaceGivesTheSameAnswer(t *testing.T) {
	worlds := vectors.Cases[accessWorld](t, "access.jsonl")
	if testing.Short() {
		worlds = worlds[:40]
	}
	questions, allowed := 0, 0
	for i, w := range worlds {
		if i%4 != 0 {
			continue // a quarter of the worlds is plenty
		}
		cat, c := attachForSurfaces(t, w)
		scopes := map[string]bool{authz.Global: true}
		for s, parents := range w.ScopeParents {
			scopes[s] = true
			for _, p := range parents {
				scopes[p] = true
			}
		}
		principals := []authz.Principal{authz.UserPrincipal("stranger"), authz.ServicePrincipal("s1")}
		for _, u := range w.Users {
			principals = append(principals, authz.UserPrincipal(u.UserID))
		}
		for _, p := range principals {
			q, a := compareSurfaces(t, c, p, cat, slices.Sorted(maps.Keys(scopes)))
			questions, allowed = questions+q, allowed+a
		}
	}
	if allowed < questions/100 || allowed == questions {
		t.Errorf("%d of %d questions are allowed: they show little", allowed, questions)
	}
	t.Logf("%d questions, %d allowed", questions, allowed)
}

func attachForSurfaces(t *testing.T, w accessWorld) (keys []string, c *client.Client) {
	app, c := attachApplication(t, w.World, w.External, nil)
	for _, key := range app.Catalog().Keys() {
		if leaf, _ := app.Catalog().Leaf(key); !leaf.RequiresCondition {
			keys = append(keys, key)
		}
	}
	return keys, c
}

func compareSurfaces(t *testing.T, c *client.Client, p authz.Principal, keys, scopes []string) (questions, allowed int) {
	t.Helper()
	ctx := context.Background()
	snapshot, err := c.Snapshot(ctx, p, client.SnapshotOptions{Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	var session *client.Session
	var sessionSnapshot *client.SessionSnapshot
	if !p.IsService() {
		if session, err = c.Session(ctx, p.UserID, nil); err != nil {
			t.Fatal(err)
		}
		if sessionSnapshot, err = session.Snapshot(ctx, client.SnapshotOptions{Scopes: scopes}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range keys {
		for _, scope := range scopes {
			want, err := c.Can(ctx, p, key, scope)
			if err != nil {
				t.Fatalf("%s %s at %s: %v", p, key, scope, err)
			}
			questions++
			if want {
				allowed++
			}
			e, explainErr := c.Explain(ctx, p, key, scope)
			answers := map[string]bool{"Explain": e.Allowed}
			errs := []error{explainErr}
			note := func(name string, got bool, err error) { answers[name], errs = got, append(errs, err) }
			got, err := c.CanFresh(ctx, p, key, scope)
			note("CanFresh", got, err)
			got, err = snapshot.Can(key, scope)
			note("Snapshot.Can", got, err)
			got, err = snapshot.Check(client.Gate{Keys: []string{key}, Scope: scope})
			note("Snapshot.Check", got, err)
			if session != nil {
				got, err = session.Can(ctx, key, scope)
				note("Session.Can", got, err)
				got, err = sessionSnapshot.Can(key, scope)
				note("SessionSnapshot.Can", got, err)
			}
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s %s at %s: %v", p, key, scope, err)
			}
			for name, got := range answers {
				if got != want {
					t.Errorf("%s %s at %s: %s answers %v, Client.Can %v", p, key, scope, name, got, want)
				}
			}
		}
	}
	held, err := c.HeldKeys(ctx, p)
	if diff := cmp.Diff(held, snapshot.HeldKeys()); err != nil || diff != "" {
		t.Errorf("%s: HeldKeys %v (-client +snapshot)\n%s", p, err, diff)
	}
	return questions, allowed
}
