package acme

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// recorder keeps what a loader sends, as a host would, and breaks on demand. It
// judges nothing that a host judges but expiry; loading into a real host is
// tested there.
type recorder struct {
	mu       sync.Mutex
	calls    []string // operations in order of arrival
	imported []directory.Snapshot
	scopes   map[string][]string
	roles    []authz.Role
	grants   []authz.Grant
	revokes  []authz.Revoke
	failAt   int // refuse this call and all after it; 0 refuses none
}

func (r *recorder) target(t *testing.T) Target {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body json.RawMessage
		err := json.NewDecoder(req.Body).Decode(&body)
		var result any
		if err == nil {
			result, err = r.serve(strings.TrimPrefix(req.URL.Path, "/v1/"), body)
		}
		if err != nil {
			wire, status := provider.ToWireError(err)
			w.WriteHeader(status)
			result = provider.Envelope{Error: wire}
		}
		_ = json.NewEncoder(w).Encode(result)
	}))
	t.Cleanup(server.Close)
	local := func(_ context.Context, op string, params, result any) error {
		body, err := json.Marshal(params)
		if err != nil {
			return err
		}
		answer, err := r.serve(op, body)
		if err != nil {
			return err
		}
		if body, err = json.Marshal(answer); err != nil {
			return err
		}
		return json.Unmarshal(body, result)
	}
	return Target{Provider: &provider.Caller{Base: server.URL}, Local: local}
}

func (r *recorder) serve(op string, body json.RawMessage) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, op)
	if r.failAt > 0 && len(r.calls) >= r.failAt {
		return nil, &authz.UnavailableError{Message: "gone", Outcome: authz.OutcomeNotApplied}
	}
	var p struct {
		Snapshot   directory.Snapshot
		Source     string
		Entries    []provider.ScopeParents
		Input      json.RawMessage
		Inputs     []provider.GrantInput
		Provenance json.RawMessage
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, authz.Validation("%s: %v", op, err)
	}
	stamp := func(raw json.RawMessage) (authz.Provenance, error) {
		prov, err := authz.ParseProvenance(raw)
		if err == nil && prov.ActorUserID != loaderID {
			err = authz.Validation("actor is %q", prov.ActorUserID)
		}
		return prov, err
	}
	var prov authz.Provenance
	var err error
	switch op {
	case "createGrants", "createRole", "setScopeParents":
		prov, err = stamp(p.Provenance)
	case "createRevoke":
		var nested struct{ Provenance json.RawMessage }
		if err = json.Unmarshal(p.Input, &nested); err == nil {
			prov, err = stamp(nested.Provenance)
		}
	}
	if err != nil {
		return nil, err
	}
	switch op {
	case "importDirectory":
		if p.Source == "" {
			return nil, authz.Validation("no source")
		}
		r.imported = append(r.imported, p.Snapshot)
		return directory.Result{}, nil
	case "setScopeParents":
		if len(p.Entries) > 1000 {
			return nil, authz.Validation("%d entries", len(p.Entries))
		}
		for _, e := range p.Entries {
			if e.Parents == nil {
				return nil, authz.Validation("%s would be forgotten", e.Scope)
			}
			r.scopes[e.Scope] = *e.Parents
		}
		return map[string]int{"changed": len(p.Entries)}, nil
	case "createRole":
		var role authz.Role
		if err := json.Unmarshal(p.Input, &role); err != nil {
			return nil, err
		}
		for _, there := range r.roles {
			if there.ID == role.ID {
				return nil, authz.Rejected(authz.CodeConflict, "role %s exists", role.ID)
			}
		}
		r.roles = append(r.roles, role)
		return map[string]authz.Role{"role": role}, nil
	case "createRevoke":
		var in provider.RevokeInput
		if err := json.Unmarshal(p.Input, &in); err != nil {
			return nil, err
		}
		row := authz.Revoke{ID: fmt.Sprint("rv", len(r.revokes)), UserID: in.UserID, Pattern: in.Pattern, Scope: in.Scope, Provenance: prov}
		r.revokes = append(r.revokes, row)
		return map[string]authz.Revoke{"revoke": row}, nil
	case "createGrants":
		if len(p.Inputs) > 500 {
			return nil, authz.Validation("%d grants", len(p.Inputs))
		}
		rows := []authz.Grant{}
		for _, in := range p.Inputs {
			if in.ExpiresAt.Expired(time.Now().UnixMilli()) {
				return nil, authz.Validation("expiresAt is already in the past")
			}
			rows = append(rows, authz.Grant{ID: fmt.Sprint("g", len(r.grants)+len(rows)), Subject: in.Subject, RoleID: in.RoleID,
				Pattern: in.Pattern, Scope: in.Scope, ExpiresAt: in.ExpiresAt, Provenance: prov})
		}
		r.grants = append(r.grants, rows...)
		return map[string][]authz.Grant{"grants": rows}, nil
	case "listRoles":
		return map[string][]authz.Role{"roles": r.roles}, nil
	case "listRevokes":
		return map[string][]authz.Revoke{"revokes": r.revokes}, nil
	case "listGrants":
		return map[string][]authz.Grant{"grants": r.grants}, nil
	}
	return nil, &provider.APIError{Code: provider.UnknownOp, Message: op}
}

// briefly is the world with expiring rows that expire sooner, so that tests need
// not wait for them.
func briefly() *World {
	w := copyOf(generated())
	for i := range w.Grants {
		if w.Grants[i].Expiring() {
			w.Grants[i].ExpiresInMs = 400
		}
	}
	return w
}

// little is briefly with a part of the rows: three calls for grants and two for
// scopes, so that every place where a load can stop is there.
func little() *World {
	w := briefly()
	w.Grants = append(w.Grants[:700:700], w.Grants[w.firstExpiring():]...)
	w.Revokes, w.Scopes = w.Revokes[:30], w.Scopes[:1300]
	return w
}

func (r *recorder) check(t *testing.T, w *World, loaded *Loaded) {
	t.Helper()
	if len(r.grants) != len(w.Grants) || len(r.revokes) != len(w.Revokes) || len(r.roles) != len(w.Roles) || len(r.scopes) != len(w.Scopes) {
		t.Fatalf("%d grants, %d revokes, %d roles, %d scopes are there", len(r.grants), len(r.revokes), len(r.roles), len(r.scopes))
	}
	grants, revokes := map[string]authz.Grant{}, map[string]authz.Revoke{}
	for _, g := range r.grants {
		grants[g.ID] = g
	}
	for _, v := range r.revokes {
		revokes[v.ID] = v
	}
	now := time.Now().UnixMilli()
	for i, want := range w.Grants {
		got := grants[loaded.GrantIDs[i]]
		if grantTuple(got.Subject, got.RoleID, got.Pattern, got.Scope) != want.tuple() {
			t.Fatalf("grant %d is kept under %q, which is %+v", i, loaded.GrantIDs[i], got)
		}
		if expired := got.ExpiresAt.Expired(now); expired != want.Expiring() {
			t.Fatalf("grant %d has expired: %v, want %v", i, expired, want.Expiring())
		}
	}
	for i, want := range w.Revokes {
		got := revokes[loaded.RevokeIDs[i]]
		if (provider.RevokeInput{UserID: got.UserID, Pattern: got.Pattern, Scope: got.Scope}) != want {
			t.Fatalf("revoke %d is kept under %q, which is %+v", i, loaded.RevokeIDs[i], got)
		}
	}
	for _, want := range w.Scopes {
		if diff := cmp.Diff(append([]string{}, want.Parents...), r.scopes[want.ID]); diff != "" {
			t.Fatalf("%s: %s", want.ID, diff)
		}
	}
}

// firstExpiring is the index of the first grant that expires while loading, the
// number of grants when there is none.
func (w *World) firstExpiring() int {
	for i, g := range w.Grants {
		if g.Expiring() {
			return i
		}
	}
	return len(w.Grants)
}

func TestLoadWritesTheWorldOnceAndWaitsForExpiry(t *testing.T) {
	t.Parallel()
	w, host := briefly(), &recorder{scopes: map[string][]string{}}
	target := host.target(t)
	last := map[string][2]int{}
	progress := func(done, total int, what string) {
		if done < last[what][0] || done > total {
			t.Errorf("progress of %s goes from %d to %d of %d", what, last[what][0], done, total)
		}
		last[what] = [2]int{done, total}
	}
	loaded, err := Load(t.Context(), target, w, progress)
	if err != nil {
		t.Fatal(err)
	}
	host.check(t, w, loaded)
	for what, total := range map[string]int{"people": UserCount, "folders and documents": len(w.Scopes), "roles": RoleCount,
		"revokes": RevokeCount, "grants": GrantCount} {
		if last[what] != [2]int{total, total} {
			t.Errorf("progress of %s ends at %v, want all of %d", what, last[what], total)
		}
	}
	s := host.imported[0]
	if len(s.Users) != UserCount || len(s.Groups) != GroupCount || len(s.Memberships) == 0 || len(s.Orgs) == 0 || len(s.ReportingEdges) != UserCount-1 {
		t.Errorf("the snapshot has %d users, %d groups, %d edges", len(s.Users), len(s.Groups), len(s.ReportingEdges))
	}

	writes := len(host.calls)
	again, err := Load(t.Context(), target, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !again.AlreadyThere || loaded.AlreadyThere {
		t.Error("only the second load finds everything there")
	}
	if diff := cmp.Diff([]string{"listRoles", "listRevokes", "listGrants"}, host.calls[writes:]); diff != "" {
		t.Errorf("the second load calls %s", diff)
	}
	host.check(t, w, again)
}

func TestLoadTakesAwayBeforeItGives(t *testing.T) {
	t.Parallel()
	host := &recorder{scopes: map[string][]string{}}
	if _, err := Load(t.Context(), host.target(t), little(), nil); err != nil {
		t.Fatal(err)
	}
	var order []string
	for i, call := range host.calls {
		if i == 0 || call != host.calls[i-1] {
			order = append(order, call)
		}
	}
	want := []string{"listRoles", "importDirectory", "setScopeParents", "createRole", "createRevoke", "createGrants"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestLoadContinuesWhereItStopped(t *testing.T) {
	t.Parallel()
	// 1 survey, 1 import, 2 of scopes, 30 roles, 30 revokes, 3 of grants
	for _, failAt := range []int{1, 2, 3, 5, 20, 50, 65, 67} {
		t.Run(fmt.Sprint("stopped at call ", failAt), func(t *testing.T) {
			t.Parallel()
			w, host := little(), &recorder{scopes: map[string][]string{}, failAt: failAt}
			target := host.target(t)
			var outage *authz.UnavailableError
			if _, err := Load(t.Context(), target, w, nil); !errors.As(err, &outage) {
				t.Fatalf("error is %v, want the outage", err)
			}
			host.failAt = 0
			loaded, err := Load(t.Context(), target, w, nil)
			if err != nil {
				t.Fatal(err)
			}
			host.check(t, w, loaded)
		})
	}
}

func TestLoadLeavesRowsOfOthersAlone(t *testing.T) {
	t.Parallel()
	w := little()
	last := w.Grants[len(w.Grants)-1]
	foreign := authz.Grant{ID: "own", Subject: "user:me", Pattern: "docs.*", Scope: "*"}
	postponed := authz.Grant{ID: "later", Subject: last.Subject, RoleID: last.RoleID, Pattern: last.Pattern, Scope: last.Scope, ExpiresAt: authz.ExpiresAt(FarFuture)}
	host := &recorder{scopes: map[string][]string{}, grants: []authz.Grant{foreign, postponed}, roles: []authz.Role{w.Roles[3], {ID: "mine"}}}
	loaded, err := Load(t.Context(), host.target(t), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(host.grants) != len(w.Grants)+2 {
		t.Errorf("%d grants are there", len(host.grants))
	}
	for i, id := range loaded.GrantIDs {
		if id == "own" || id == "later" {
			t.Errorf("grant %d is taken for %s", i, id)
		}
	}
}

func TestLoadRefusesARoleOfTheSameIdWithOtherPatterns(t *testing.T) {
	t.Parallel()
	w := little()
	host := &recorder{roles: []authz.Role{{ID: w.Roles[5].ID, Patterns: []string{"*"}}}}
	var refused *NotThisWorldError
	if _, err := Load(t.Context(), host.target(t), w, nil); !errors.As(err, &refused) {
		t.Errorf("error is %v", err)
	}
	if diff := cmp.Diff([]string{"listRoles"}, host.calls); diff != "" {
		t.Error(diff)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := little()
	for i := range w.Grants {
		if w.Grants[i].Expiring() {
			w.Grants[i].ExpiresInMs = time.Hour.Milliseconds()
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := &recorder{scopes: map[string][]string{}}
	_, err := Load(ctx, host.target(t), w, func(done, total int, what string) {
		if what == "grants" && done == total {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
