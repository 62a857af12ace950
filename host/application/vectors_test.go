package application_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// script is one case of app-writes.jsonl or requests.jsonl.
type script struct {
	Catalog      json.RawMessage            `json:"catalog"`
	ScopeParents map[string][]string        `json:"scopeParents"`
	Options      map[string]json.RawMessage `json:"options"`
	Start        int64                      `json:"start"`
	Steps        []scriptStep               `json:"steps"`
	Final        struct {
		Audit []json.RawMessage `json:"audit"`
		Epoch *struct {
			Head     int64 `json:"head"`
			SinceMid *struct {
				Seq    int64           `json:"seq"`
				Limit  int             `json:"limit"`
				Result json.RawMessage `json:"result"`
			} `json:"sinceMid"`
		} `json:"epoch"`
		State map[string][]json.RawMessage `json:"state"`
	} `json:"final"`
}

type scriptStep struct {
	Op      string                     `json:"op"`
	Args    map[string]json.RawMessage `json:"args"`
	At      int64                      `json:"at"`
	Setup   bool                       `json:"setup"` // succeeds, nothing else is expected
	Created []string                   `json:"created"`
	Events  []json.RawMessage          `json:"events"`
	Expect  struct {
		OK    json.RawMessage `json:"ok"`
		Error *struct {
			Name    string `json:"name"`
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"expect"`
}

// replay is a script under way: an application whose ids ascend, and the names
// that the script gives to the rows.
type replay struct {
	t      *testing.T
	app    *application.Application
	store  storage.Store
	now    int64
	drawn  int
	setup  int               // audit entries of the setup
	names  map[string]string // generated id → symbol
	ids    map[string]string // symbol → generated id
	events []authz.Event
}

func TestVectorsAppWrites(t *testing.T) {
	covered := func(s script) bool {
		for option := range s.Options {
			if option != "orgRoot" && option != "sod" {
				return false
			}
		}
		return !slices.ContainsFunc(s.Steps, func(step scriptStep) bool { return operations[step.Op] == nil })
	}
	vectors.Replay(t, "app-writes.jsonl", covered, func(t *testing.T, s script) { newReplay(t, s).run(s) })
}

func newReplay(t *testing.T, s script) *replay {
	t.Helper()
	r := &replay{t: t, store: openStore(t), now: s.Start, names: map[string]string{}, ids: map[string]string{}}
	o := application.Options{
		Catalog: buildCatalog(t, s.Catalog), Store: r.store,
		Ancestry: application.FromParents(func(_ context.Context, scope string) ([]string, error) {
			return s.ScopeParents[scope], nil
		}),
		Clock: func() int64 { return r.now },
		IDs:   func() string { r.drawn++; return fmt.Sprintf("raw%06d", r.drawn) },
	}
	if raw, ok := s.Options["orgRoot"]; ok {
		o.OrgRoot = new(bool)
		must(t, json.Unmarshal(raw, o.OrgRoot))
	}
	if raw, ok := s.Options["sod"]; ok {
		must(t, json.Unmarshal(raw, &o.SoD))
	}
	r.app = newApp(t, o)
	r.app.OnInvalidate(func(e authz.Event) { r.events = append(r.events, e) })
	return r
}

func (r *replay) run(s script) {
	for i, step := range s.Steps {
		r.now = step.At
		r.events = []authz.Event{}
		got, err := operations[step.Op](r, r.args(step.Args))
		where := fmt.Sprintf("step %d %s", i, step.Op)
		if step.Setup {
			must(r.t, err)
			r.bind(got, step.Created)
			r.setup = len(rows(r.t, r.app.ListAuditEvents(r.t.Context(), provider.AuditQuery{})))
			continue
		}
		if want := step.Expect.Error; want != nil {
			var typed authz.Error
			if !errors.As(err, &typed) {
				r.t.Fatalf("%s: got %v, want the error %+v", where, err, *want)
			}
			if diff := cmp.Diff([]string{want.Name, want.Code}, []string{typed.ErrorName(), typed.ErrorCode()}); diff != "" {
				r.t.Fatalf("%s: %q:\n%s", where, err, diff)
			}
			if want.Code == string(authz.CodeGraphCycle) && r.symbols(err.Error()) != want.Message {
				r.t.Fatalf("%s: message %q, want %q", where, err, want.Message)
			}
		} else {
			if err != nil {
				r.t.Fatalf("%s: %v", where, err)
			}
			r.bind(got, step.Created)
			r.compare(where, step.Expect.OK, got)
		}
		r.compare(where+" events", list(step.Events), r.events)
	}
	r.compareFinal(s)
}

func (r *replay) compareFinal(s script) {
	ctx := r.t.Context()
	if s.Final.Audit != nil || r.setup == 0 {
		r.compareAudit("final audit", s.Final.Audit, rows(r.t, r.app.ListAuditEvents(ctx, provider.AuditQuery{}))[r.setup:])
	}
	if want := s.Final.Epoch; want != nil {
		head, err := r.app.Epoch().Head(ctx)
		must(r.t, err)
		if head.Seq != want.Head {
			r.t.Errorf("head %d, want %d", head.Seq, want.Head)
		}
		if mid := want.SinceMid; mid != nil {
			page, err := r.app.Epoch().Since(ctx, mid.Seq, mid.Limit)
			must(r.t, err)
			r.compare("since", mid.Result, page)
		}
	}
	requests := rows(r.t, r.store.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{}))
	state := map[string]any{
		"grants":   rows(r.t, r.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})),
		"revokes":  rows(r.t, r.store.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{})),
		"roles":    rows(r.t, r.store.ListRoles(ctx, storage.Page{})),
		"groups":   rows(r.t, r.store.ListGroups(ctx, storage.Page{})),
		"users":    rows(r.t, r.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{})),
		"requests": requests,
	}
	if r.setup > 0 {
		state["requests"] = withoutTerms(r.t, requests)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Final.State)) {
		r.compare("final "+kind, list(s.Final.State[kind]), state[kind])
	}
}

func (r *replay) compareAudit(what string, want []json.RawMessage, entries []authz.AuditEntry) {
	got := []any{}
	for _, e := range entries {
		got = append(got, withoutID(r.t, e))
	}
	r.compare(what, list(want), got)
}

// bind gives the rows of a result the symbols that the script created.
func (r *replay) bind(got any, created []string) {
	var ids []string
	switch row := got.(type) {
	case authz.Grant:
		ids = []string{row.ID}
	case []authz.Grant:
		for _, g := range row {
			ids = append(ids, g.ID)
		}
	case authz.Request:
		ids = r.ofRequest(row)
	case authz.Revoke:
		ids = []string{row.ID}
	case authz.Role:
		ids = []string{row.ID}
	case authz.Group:
		ids = []string{row.ID}
	default:
		ids = r.unnamed()
	}
	if len(created) > 0 && len(created) != len(ids) {
		r.t.Fatalf("created %v, the result has %v", created, ids)
	}
	for i, symbol := range created {
		r.names[ids[i]], r.ids[symbol] = symbol, ids[i]
	}
}

// unnamed are the grants that an operation wrote and did not return, in the order
// of their insertion.
func (r *replay) unnamed() (ids []string) {
	for _, g := range rows(r.t, r.store.ListGrants(r.t.Context(), storage.GrantFilter{}, storage.Page{})) {
		if r.names[g.ID] == "" {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

var generated = regexp.MustCompile(`raw\d{6}`)

// symbols names the generated ids in a text as the script does.
func (r *replay) symbols(text string) string {
	return generated.ReplaceAllStringFunc(text, func(id string) string {
		if symbol, ok := r.names[id]; ok {
			return symbol
		}
		return "<id>"
	})
}

// args puts the ids of this run in place of the symbols.
func (r *replay) args(in map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, raw := range in {
		text := string(raw)
		for symbol, id := range r.ids {
			text = strings.ReplaceAll(text, `"`+symbol+`"`, `"`+id+`"`)
			text = strings.ReplaceAll(text, `:`+symbol+`"`, `:`+id+`"`)
		}
		out[name] = json.RawMessage(text)
	}
	return out
}

// compare compares by value. Lists of rows are sorted on both sides: a symbol
// does not sort as the id that it stands for.
func (r *replay) compare(what string, want json.RawMessage, got any) {
	r.t.Helper()
	encoded, err := json.Marshal(got)
	must(r.t, err)
	w, g := decoded(r.t, want), decoded(r.t, []byte(r.symbols(string(encoded))))
	if supply, ok := g.(map[string]any); ok && supply["closure"] != nil {
		for _, set := range []string{"closure", "grantIds", "revokeIds", "roleIds", "unresolvedRoleIds"} {
			sortJSON(supply[set]) // by symbol
		}
	}
	switch got.(type) {
	case []authz.Grant, []authz.Revoke, []authz.Role, []authz.Group, []authz.User:
		sortJSON(w)
		sortJSON(g)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func sortJSON(v any) {
	list, _ := v.([]any)
	slices.SortFunc(list, func(a, b any) int {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return bytes.Compare(x, y)
	})
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	must(t, dec.Decode(&v))
	return v
}

func list(raws []json.RawMessage) json.RawMessage {
	parts := make([]string, len(raws))
	for i, r := range raws {
		parts[i] = string(r)
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]")
}

func withoutID(t *testing.T, e authz.AuditEntry) any {
	t.Helper()
	raw, err := json.Marshal(e)
	must(t, err)
	entry, _ := decoded(t, raw).(map[string]any)
	delete(entry, "id")
	return entry
}

func buildCatalog(t testing.TB, raw []byte) *catalog.Catalog {
	t.Helper()
	in, err := catalog.ParseJSON(raw)
	must(t, err)
	c, err := catalog.Build(in)
	must(t, err)
	return c
}

func orNil[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
