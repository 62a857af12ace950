package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// accessWorld is one line of access.jsonl.
type accessWorld struct {
	vectors.World
	External client.ExternalPolicy `json:"externalPermissions"`
	Queries  []accessQuery         `json:"queries"`
	Reports  []externalReport      `json:"externalReports"`
}

type accessQuery struct {
	Op        string          `json:"op"`
	Principal string          `json:"principal"`
	Key       keys            `json:"key"`
	Pattern   string          `json:"pattern"`
	Scope     string          `json:"scope"`
	Scopes    []string        `json:"scopes"`
	Condition *bool           `json:"condition"`
	Active    bool            `json:"active"`
	Resolved  []string        `json:"resolvedScopes"`
	Checks    []accessQuery   `json:"checks"`
	Want      json.RawMessage `json:"want"`
	Err       *wantedError    `json:"err"`
}

// wantedError is an error of a check. Of an AccessDeniedError access.jsonl keeps the
// reason only, session.jsonl what was asked as well; that leaves suggestions out.
type wantedError struct {
	Name       string             `json:"name"`
	Message    string             `json:"message"` // informative
	Permission keys               `json:"permission"`
	Expected   authz.Expected     `json:"expected"`
	Suggestion *string            `json:"suggestion"`
	Reason     authz.DenialReason `json:"reason"`
	Declared   *bool              `json:"declared"`
	Scope      *string            `json:"scope"`
	Principal  string             `json:"principal"`
}

// mismatch says in what an error differs from the wanted one; "" is in nothing.
func (w wantedError) mismatch(err error) string {
	var typed authz.Error
	if !errors.As(err, &typed) || typed.ErrorName() != w.Name {
		return fmt.Sprintf("error %v, want a %s", err, w.Name)
	}
	same := true
	switch e := typed.(type) {
	case *authz.UnknownPermissionError:
		same = slices.Equal([]string{e.Permission}, w.Permission.list) && e.Expected == w.Expected &&
			(w.Suggestion == nil || e.Suggestion == *w.Suggestion)
	case *authz.MissingConditionError:
		same = slices.Equal([]string{e.Permission}, w.Permission.list)
	case *authz.AccessDeniedError:
		same = e.Reason == w.Reason
		if w.Principal != "" {
			same = same && slices.Equal(e.Permissions, w.Permission.list) && e.Principal.Subject() == w.Principal &&
				(w.Scope == nil && e.Scope == "" || w.Scope != nil && e.Scope == *w.Scope)
		}
	case *authz.UnresolvedScopeError:
		same = w.Declared != nil && e.Declared == *w.Declared && (w.Scope == nil || e.Scope == *w.Scope)
	}
	if same {
		return ""
	}
	return fmt.Sprintf("%+v, want %+v", typed, w)
}

// keys is one key or an any-of list.
type keys struct {
	list []string
	many bool
}

func (k *keys) UnmarshalJSON(b []byte) error {
	if k.many = b[0] == '['; k.many {
		return json.Unmarshal(b, &k.list)
	}
	k.list = make([]string, 1)
	return json.Unmarshal(b, &k.list[0])
}

type wantedExplanation struct {
	Allowed        bool     `json:"allowed"`
	MatchedGrants  []string `json:"matchedGrants"`
	MatchedRevokes []string `json:"matchedRevokes"`
	Implied        bool     `json:"implied"`
	ImpliedBy      []string `json:"impliedBy"`
	ObjectClosure  []string `json:"objectClosure"`
	Active         *bool    `json:"active"`
}

func TestVectorsAccess(t *testing.T) { replayAccess(t, "access.jsonl", local) }

func TestVectorsAccessMore(t *testing.T) { replayAccess(t, "access-more.jsonl", local) }

// A client attached to a hosted provider cannot tell it from the local one.

func TestVectorsAccessHosted(t *testing.T) { replayAccess(t, "access.jsonl", hosted) }

func TestVectorsAccessMoreHosted(t *testing.T) { replayAccess(t, "access-more.jsonl", hosted) }

func replayAccess(t *testing.T, file string, over func(*testing.T, client.Source) client.Source) {
	vectors.Replay(t, file, nil, func(t *testing.T, w accessWorld) {
		var reported []client.ExternalPermission
		_, c := attachWith(t, w.World, func(o *client.Options) {
			o.Provider = over(t, o.Provider)
			o.External, o.OnExternal = w.External, func(p client.ExternalPermission) { reported = append(reported, p) }
		})
		for i, q := range w.Queries {
			replayQuery(t, i, c, q)
		}
		if diff := cmp.Diff(w.Reports, reports(reported), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("names reported (-want +got)\n%s", diff)
		}
	})
}

// externalReport is what the client reported of a foreign name.
type externalReport struct {
	Permission string         `json:"permission"`
	Expected   authz.Expected `json:"expected"`
	Namespace  string         `json:"namespace"`
	Shape      string         `json:"shape"`
}

func reports(reported []client.ExternalPermission) []externalReport {
	var list []externalReport
	for _, p := range reported {
		list = append(list, externalReport(p))
	}
	return list
}

func replayQuery(t *testing.T, i int, c *client.Client, q accessQuery) {
	p, ctx := principal(t, q.Principal), context.Background()
	single := !q.Key.many && q.Condition == nil
	switch q.Op {
	case "can", "canFresh":
		got, err := c.Check(ctx, p, client.Gate{Keys: q.Key.list, Scope: q.Scope, Fresh: q.Op == "canFresh", Condition: condition(q.Condition)})
		judge(t, i, q, got, err)
		if single && q.Op == "can" {
			got, err = c.Can(ctx, p, q.Key.list[0], q.Scope)
			judge(t, i, q, got, err)
		}
		if single {
			got, err = c.CanFresh(ctx, p, q.Key.list[0], q.Scope)
			judge(t, i, q, got, err)
		}
	case "require":
		err := c.RequireGate(ctx, p, client.Gate{Keys: q.Key.list, Scope: q.Scope, Condition: condition(q.Condition)})
		judge(t, i, q, err == nil, err)
		if single {
			err := c.Require(ctx, p, q.Key.list[0], q.Scope)
			judge(t, i, q, err == nil, err)
		}
	case "canAny":
		got, err := c.CanAny(ctx, p, q.Pattern)
		judge(t, i, q, got, err)
	case "requireAny":
		err := c.RequireAny(ctx, p, q.Pattern)
		judge(t, i, q, err == nil, err)
	case "holds":
		got, err := c.Holds(ctx, p, q.Key.list[0])
		judge(t, i, q, got, err)
	case "heldKeys":
		got, err := c.HeldKeys(ctx, p)
		judgeList(t, i, q, got, err)
	case "grantedScopes":
		got, err := c.GrantedScopes(ctx, p, q.Key.list[0])
		judgeList(t, i, q, got, err)
	case "explain":
		e, err := c.Explain(ctx, p, q.Key.list[0], q.Scope)
		judgeExplanation(t, i, q, e, err)
	case "snapshot":
		replaySnapshot(t, i, c, p, q)
	default:
		t.Errorf("query %d: unknown operation %s", i, q.Op)
	}
}

func replaySnapshot(t *testing.T, n int, c *client.Client, p authz.Principal, q accessQuery) {
	s, err := c.Snapshot(context.Background(), p, client.SnapshotOptions{Scopes: q.Scopes})
	if q.Err != nil {
		judge(t, n, q, false, err)
		return
	}
	if err != nil {
		t.Errorf("query %d snapshot: %v", n, err)
		return
	}
	if s.Active() != q.Active {
		t.Errorf("query %d snapshot: active = %v", n, s.Active())
	}
	if diff := cmp.Diff(append([]string{}, q.Resolved...), s.ResolvedScopes()); diff != "" {
		t.Errorf("query %d snapshot: resolved scopes (-want +got)\n%s", n, diff)
	}
	for i, check := range q.Checks {
		replayCheck(t, 1000*n+i, s, check)
	}
}

func replayCheck(t *testing.T, n int, s *client.Snapshot, q accessQuery) {
	single := !q.Key.many && q.Condition == nil
	switch q.Op {
	case "can":
		got, err := s.Check(client.Gate{Keys: q.Key.list, Scope: q.Scope, Condition: condition(q.Condition)})
		judge(t, n, q, got, err)
		if single {
			got, err = s.Can(q.Key.list[0], q.Scope)
			judge(t, n, q, got, err)
		}
	case "require":
		err := s.RequireGate(client.Gate{Keys: q.Key.list, Scope: q.Scope, Condition: condition(q.Condition)})
		judge(t, n, q, err == nil, err)
		if single {
			err := s.Require(q.Key.list[0], q.Scope)
			judge(t, n, q, err == nil, err)
		}
	case "canAny":
		got, err := s.CanAny(q.Pattern)
		judge(t, n, q, got, err)
	case "requireAny":
		err := s.RequireAny(q.Pattern)
		judge(t, n, q, err == nil, err)
	case "holds":
		got, err := s.Holds(q.Key.list[0])
		judge(t, n, q, got, err)
	case "heldKeys":
		judgeList(t, n, q, s.HeldKeys(), nil)
	case "grantedScopes":
		got, err := s.GrantedScopes(q.Key.list[0])
		judgeList(t, n, q, got, err)
	case "explain":
		e, err := s.Explain(q.Key.list[0], q.Scope)
		judgeExplanation(t, n, q, e, err)
	case "resolve":
		err := s.Resolve(context.Background(), q.Scopes...)
		judgeList(t, n, q, s.ResolvedScopes(), err)
	default:
		t.Errorf("query %d: unknown operation %s", n, q.Op)
	}
}

// judgeList compares a result that is no answer.
func judgeList(t *testing.T, n int, q accessQuery, got any, err error) {
	t.Helper()
	if q.Err != nil || err != nil {
		judge(t, n, q, false, err)
		return
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var have, want any
	if err := errors.Join(json.Unmarshal(text, &have), json.Unmarshal(q.Want, &want)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("query %d %s %v for %s (-want +got)\n%s", n, q.Op, q.Key.list, q.Principal, diff)
	}
}

func condition(answer *bool) func(context.Context) (bool, error) {
	if answer == nil {
		return nil
	}
	return func(context.Context) (bool, error) { return *answer, nil }
}

func judge(t *testing.T, n int, q accessQuery, got bool, err error) {
	t.Helper()
	at := func(format string, args ...any) {
		t.Helper()
		t.Errorf("query %d %s %v at %q for %s: "+format, append([]any{n, q.Op, q.Key.list, q.Scope, q.Principal}, args...)...)
	}
	if q.Err == nil {
		if err != nil {
			at("unexpected error %v", err)
		} else if want := string(q.Want) == "true"; got != want {
			at("answered %v, want %v", got, want)
		}
		return
	}
	if q.Err.Suggestion == nil {
		q.Err.Suggestion = new(string)
	}
	if differs := q.Err.mismatch(err); differs != "" {
		at("%s", differs)
	}
}

func judgeExplanation(t *testing.T, n int, q accessQuery, e access.Explanation, err error) {
	t.Helper()
	if err != nil || q.Err != nil {
		judge(t, n, q, false, err)
		return
	}
	var want wantedExplanation
	if err := json.Unmarshal(q.Want, &want); err != nil {
		t.Fatal(err)
	}
	if want.Active == nil {
		want.Active = new(true)
	}
	if want.ObjectClosure == nil {
		want.ObjectClosure = []string{"*"}
	}
	got := wantedExplanation{Allowed: e.Allowed, Implied: e.Implied, ObjectClosure: e.ObjectClosure, Active: &e.Active}
	for _, g := range e.MatchedGrants {
		got.MatchedGrants = append(got.MatchedGrants, g.ID)
	}
	for _, r := range e.MatchedRevokes {
		got.MatchedRevokes = append(got.MatchedRevokes, r.ID)
	}
	for _, g := range e.ImpliedBy {
		got.ImpliedBy = append(got.ImpliedBy, g.ID)
	}
	slices.Sort(got.MatchedGrants)
	slices.Sort(got.MatchedRevokes)
	slices.Sort(got.ImpliedBy)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("query %d explain %v at %q for %s (-want +got)\n%s", n, q.Key.list, q.Scope, q.Principal, diff)
	}
}

func principal(t *testing.T, subject string) authz.Principal {
	kind, id, ok := authz.ParseSubject(subject)
	switch {
	case ok && kind == authz.SubjectUser:
		return authz.UserPrincipal(id)
	case ok && kind == authz.SubjectService:
		return authz.ServicePrincipal(id)
	}
	t.Fatalf("no principal: %q", subject)
	return authz.Principal{}
}

// attach builds a client on the fixed clock of a world, over an application over
// a memory store that holds its rows.
func attach(t *testing.T, w vectors.World, external client.ExternalPolicy, report func(client.ExternalPermission)) *client.Client {
	t.Helper()
	_, c := attachApplication(t, w, external, report)
	return c
}

func attachApplication(t *testing.T, w vectors.World, external client.ExternalPolicy, report func(client.ExternalPermission)) (*application.Application, *client.Client) {
	t.Helper()
	return attachWith(t, w, func(o *client.Options) { o.External, o.OnExternal = external, report })
}

func attachWith(t *testing.T, w vectors.World, change func(*client.Options)) (*application.Application, *client.Client) {
	t.Helper()
	ctx := context.Background()
	clock := func() int64 { return w.Now }
	in, err := catalog.ParseJSON(w.Catalog)
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	driver := memory.New(memory.Options{Clock: clock})
	t.Cleanup(func() { driver.Close() })
	store, err := driver.Open(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Commit(ctx, w.Commit()); err != nil {
		t.Fatal(err)
	}
	app, err := application.New(ctx, application.Options{Name: "world", Catalog: cat, Store: store, Clock: clock,
		Ancestry: application.AncestryFunc(func(_ context.Context, scope string) ([]string, error) { return w.Ancestors(scope), nil })})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	options := client.Options{Provider: app, Catalog: cat, Clock: clock}
	change(&options)
	c, err := client.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return app, c
}

func TestExplanationsReadLikeAnAnswer(t *testing.T) {
	e := access.Explanation{Allowed: true, Active: true, ObjectClosure: []string{"docs.doc:1", "*"},
		MatchedGrants: []authz.Grant{{ID: "g1", Subject: "group:writers", RoleID: "editor", Scope: "docs.doc:1", ExpiresAt: authz.ExpiresAt(1764547200000)}}}
	text := e.Text(authz.UserPrincipal("u_17"), "docs.files.edit", "docs.doc:1")
	for _, part := range []string{"ALLOWED", "user:u_17 may docs.files.edit at docs.doc:1", "g1  role editor to group:writers", "until 2025-12-01T00:00:00Z", "docs.doc:1 → *"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
}
