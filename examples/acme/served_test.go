package acme_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/examples/acme"
	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// served is a real application over the memory driver with its provider API
// served over HTTP, as a loader and its target.
type served struct {
	target acme.Target
	client *client.Client
}

// evaluator asks the client, as the host does.
type evaluator struct{ *client.Client }

func (e evaluator) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return e.Client.Check(ctx, p, client.Gate{Keys: keys, Scope: scope, Fresh: fresh})
}

func serve(t *testing.T) served {
	t.Helper()
	built := build(t)
	driver := memory.New(memory.Options{})
	store, err := driver.Open(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	app, err := application.New(t.Context(), application.Options{Name: "acme", Catalog: built, Store: store, Ancestry: application.Stored(store)})
	if err != nil {
		t.Fatal(err)
	}
	asking, err := client.New(client.Options{Provider: app, Catalog: built})
	if err != nil {
		t.Fatal(err)
	}
	const secret = "a secret of the sample"
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: app, ApplicationID: "acme", Evaluator: evaluator{asking},
		Secrets: func() []string { return []string{secret} }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		asking.Close()
		for _, c := range []io.Closer{app, store, driver} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	local := func(ctx context.Context, op string, params, result any) error {
		if op != "importDirectory" {
			return fmt.Errorf("%s does not belong on the local socket", op)
		}
		body, err := json.Marshal(params)
		if err != nil {
			return err
		}
		var p struct {
			Snapshot directory.Snapshot
			Source   string
			Options  directory.Options
		}
		if err := json.Unmarshal(body, &p); err != nil {
			return err
		}
		*result.(*directory.Result), err = app.ImportDirectory(ctx, p.Snapshot, p.Source, p.Options)
		return err
	}
	return served{acme.Target{Provider: &provider.Caller{Base: server.URL, Secret: secret}, Local: local}, asking}
}

// ask answers the questions through POST /v1/check.
func (s served) ask(t *testing.T, questions ...acme.Question) []bool {
	t.Helper()
	checks := []map[string]any{}
	for _, q := range questions {
		checks = append(checks, map[string]any{"principal": q.Principal, "key": q.Key, "scope": q.Scope})
	}
	var answer struct {
		Results []struct {
			Allowed *bool
			Error   *provider.WireError
		}
	}
	if err := s.target.Provider.Call(t.Context(), "check", map[string]any{"checks": checks}, &answer); err != nil {
		t.Fatal(err)
	}
	allowed := make([]bool, len(questions))
	for i, r := range answer.Results {
		if r.Allowed == nil {
			t.Fatalf("%+v: no answer: %+v", questions[i], r.Error)
		}
		allowed[i] = *r.Allowed
	}
	return allowed
}

func (s served) load(t *testing.T, w *acme.World) *acme.Loaded {
	t.Helper()
	loaded, err := acme.Load(t.Context(), s.target, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// TestServedWorldAnswersAsTheRowsSay is the whole sample against the real thing:
// loading, every question, what explain names, and the rows that decide.
func TestServedWorldAnswersAsTheRowsSay(t *testing.T) {
	t.Parallel()
	w := acme.Generate()
	questions := questions()
	for i := range w.Grants { // the same world, sooner ready
		w.Grants[i].ExpiresInMs = min(w.Grants[i].ExpiresInMs, 800)
	}
	s := serve(t)
	loaded := s.load(t, w)

	for i, got := range s.ask(t, questions...) {
		if q := questions[i]; got != q.Want {
			t.Errorf("%s %s at %s: %v, want %v: %s", q.Principal, q.Key, q.Scope, got, q.Want, q.Why)
		}
	}
	for _, q := range questions {
		e, err := s.client.Explain(t.Context(), q.Principal, q.Key, q.Scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(named(loaded.GrantIDs, q.Grants), grantIDs(e.MatchedGrants)); diff != "" {
			t.Errorf("%s %s at %s: matched grants %s", q.Principal, q.Key, q.Scope, diff)
		}
		if diff := cmp.Diff(named(loaded.GrantIDs, q.ImpliedBy), grantIDs(e.ImpliedBy)); diff != "" {
			t.Errorf("%s %s at %s: implied by %s", q.Principal, q.Key, q.Scope, diff)
		}
		revokes := []string{}
		for _, r := range e.MatchedRevokes {
			revokes = append(revokes, r.ID)
		}
		slices.Sort(revokes)
		if diff := cmp.Diff(named(loaded.RevokeIDs, q.Revokes), revokes); diff != "" {
			t.Errorf("%s %s at %s: matched revokes %s", q.Principal, q.Key, q.Scope, diff)
		}
	}

	if again := s.load(t, w); !again.AlreadyThere {
		t.Error("loading again writes again")
	} else if diff := cmp.Diff(loaded.GrantIDs, again.GrantIDs); diff != "" {
		t.Errorf("loading again finds other rows: %s", diff)
	}

	for _, q := range questions {
		op, params := "deleteGrant", map[string]any{"provenance": authz.AdminProvenance("tester")}
		switch d := q.Deciding; {
		case d.GrantIndex != nil:
			params["grantId"] = loaded.GrantIDs[*d.GrantIndex]
		case d.RevokeIndex != nil:
			op, params["revokeId"] = "deleteRevoke", loaded.RevokeIDs[*d.RevokeIndex]
		default:
			continue
		}
		before := s.ask(t, q)[0]
		if err := s.target.Provider.Call(t.Context(), op, params, nil); err != nil {
			t.Fatal(err)
		}
		if after := s.ask(t, q)[0]; before != q.Want || after == q.Want {
			t.Errorf("%s %s at %s: %v, then %v without its deciding row; want %v, then the other", q.Principal, q.Key, q.Scope, before, after, q.Want)
		}
	}

	// What was deleted is missing, and only that is loaded again.
	mended := s.load(t, w)
	for i, got := range s.ask(t, questions...) {
		if got != questions[i].Want {
			t.Errorf("question %d is answered %v after loading again", i+1, got)
		}
	}
	kept := 0
	for i, id := range mended.GrantIDs {
		if id == loaded.GrantIDs[i] {
			kept++
		}
	}
	if mended.AlreadyThere || kept < acme.GrantCount-acme.DecidingCount {
		t.Errorf("%d grants were kept, the load found everything there: %v", kept, mended.AlreadyThere)
	}
}

func named(ids []string, indices []int) []string {
	list := []string{}
	for _, i := range indices {
		list = append(list, ids[i])
	}
	slices.Sort(list)
	return list
}

func grantIDs(rows []authz.Grant) []string {
	list := []string{}
	for _, g := range rows {
		list = append(list, g.ID)
	}
	slices.Sort(list)
	return list
}
