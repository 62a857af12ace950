package scripts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// replay is a script under way: a surface whose ids ascend, and the names that the
// script gives to the rows.
type replay struct {
	t     testing.TB
	on    Surface
	setup int               // audit entries of the setup
	names map[string]string // generated id → symbol
	ids   map[string]string // symbol → generated id
}

// IDs names rows so that order of ids is order of writing, and so that a replay
// finds them in a text.
func IDs() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("raw%06d", n.Add(1)) }
}

// Run replays a script on a surface that is empty, whose ids are of IDs.
func Run(t testing.TB, s Script, on Surface) {
	t.Helper()
	newReplay(t, on, s.Case).run(s)
}

func newReplay(t testing.TB, on Surface, c Case) *replay {
	on.Now.Store(c.Start)
	return &replay{t: t, on: on, names: map[string]string{}, ids: map[string]string{}}
}

func (r *replay) run(s Script) {
	for i, step := range s.Steps {
		where := fmt.Sprintf("step %d %s", i, step.Op)
		do := operations[step.Op]
		if do == nil {
			r.t.Fatalf("%s: there is no such operation", where)
		}
		step.Set(r.on.Now)
		got, err := do(r, r.args(step.Args))
		heard := r.on.Heard(r.t)
		if step.Setup {
			must(r.t, err)
			r.bind(got, step.Created)
			r.setup = len(rows(r.t, r.on.Provider.ListAuditEvents(r.t.Context(), provider.AuditQuery{})))
			continue
		}
		if want := step.Expect.Error; want != nil {
			want.check(r.t, where, err, r.symbols)
		} else {
			if err != nil {
				r.t.Fatalf("%s: %v", where, err)
			}
			r.bind(got, step.Created)
			r.compare(where, step.Expect.OK, got)
		}
		r.compare(where+" events", list(step.Events), heard)
	}
	r.compareFinal(s.Final)
}

func (r *replay) compareFinal(f Final) {
	ctx := r.t.Context()
	if f.Audit != nil {
		r.compareAudit("final audit", f.Audit, rows(r.t, r.on.Provider.ListAuditEvents(ctx, provider.AuditQuery{}))[r.setup:])
	}
	if want := f.Epoch; want != nil && r.on.Provider.EventLog() == nil {
		r.t.Errorf("there is no log, want the head %d", want.Head)
	} else if want != nil {
		head, err := r.on.Provider.EventLog().Head(ctx)
		must(r.t, err)
		if head.Seq != want.Head {
			r.t.Errorf("head %d, want %d", head.Seq, want.Head)
		}
		if mid := want.SinceMid; mid != nil {
			page, err := r.on.Provider.EventLog().Since(ctx, authz.Position{Seq: mid.Seq}, mid.Limit)
			must(r.t, err)
			page.UpTo.Identity = "" // the recording predates it
			r.compare("since", mid.Result, page)
		}
	}
	state := Stored(r.t, r.on.Store)
	if !haveTerms(f.State["requests"]) {
		state["requests"] = withoutTerms(r.t, state["requests"].([]authz.Request))
	}
	for _, kind := range slices.Sorted(maps.Keys(f.State)) {
		if state[kind] == nil {
			r.t.Fatalf("final state: there are no rows called %s", kind)
		}
		r.compare("final "+kind, list(f.State[kind]), state[kind])
	}
}

func (r *replay) compareAudit(what string, want []json.RawMessage, entries []authz.AuditEntry) {
	got := []any{}
	for _, e := range entries {
		got = append(got, withoutID(r.t, e))
	}
	r.compare(what, list(want), got)
}

// Stored is every row, by kind.
func Stored(t testing.TB, s storage.Store) map[string]any {
	t.Helper()
	ctx := t.Context()
	return map[string]any{
		"grants":   rows(t, s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})),
		"revokes":  rows(t, s.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{})),
		"roles":    rows(t, s.ListRoles(ctx, storage.Page{})),
		"groups":   rows(t, s.ListGroups(ctx, storage.Page{})),
		"users":    rows(t, s.ListUsers(ctx, storage.UserFilter{}, storage.Page{})),
		"requests": rows(t, s.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{})),
	}
}
