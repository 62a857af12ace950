package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// A case of provider-api.jsonl.
type wireCase struct {
	Catalog        json.RawMessage
	ScopeParents   map[string][]string
	Secret         string
	ApplicationID  string
	WithoutStorage bool
	Options        wireOptions
	Steps          []wireStep
	Final          struct{ State map[string]any }
}

type wireOptions struct {
	OrgRoot *bool
	Events  struct{ Persist *bool }
	Sod     application.SoD
	Metrics *application.Metrics
}

type wireStep struct {
	Op   string
	At   int64
	Args struct {
		Path   string
		Method string
		Auth   *string
		JSON   json.RawMessage
		Body   *string
	}
	Expect struct {
		OK struct {
			Status      int
			ContentType string
			Body        map[string]any
		}
	}
	Created []string
	Events  []any
}

// covered leaves out operations that are not in the manifest. Steps that never
// reach an operation count as covered.
func covered(c wireCase) bool {
	for _, s := range c.Steps {
		if s.Op != "http" {
			return false
		}
		fault, _ := s.Expect.OK.Body["error"].(map[string]any)
		if fault["name"] == "ProviderApiError" {
			continue
		}
		path, _, _ := strings.Cut(s.Args.Path, "?")
		op := strings.ReplaceAll(path[strings.LastIndex(path, "/v1/")+4:], "%2E", ".")
		if canonical := map[string]string{"org.exportSnapshot": "exportOrgSnapshot", "org.applySnapshot": "applyOrgSnapshot"}[op]; canonical != "" {
			op = canonical
		}
		if _, ok := provider.LookupOperation(op); !ok {
			return false
		}
	}
	return true
}

func TestVectorsProviderAPI(t *testing.T) {
	vectors.Replay(t, "provider-api.jsonl", covered, replay)
}

var symbol = regexp.MustCompile(`^(G|R|Q|ROLE|GROUP)[0-9]+$`)

func replay(t *testing.T, c wireCase) {
	if c.ApplicationID != "app-1" || c.Secret != secret {
		t.Fatalf("the world serves another application than %s", c.ApplicationID)
	}
	w := newWorld(t, worldOptions{catalog: string(c.Catalog), scopeParents: nonNil(c.ScopeParents),
		orgRoot: c.Options.OrgRoot, persist: c.Options.Events.Persist, metrics: c.Options.Metrics, sod: c.Options.Sod, noStorage: c.WithoutStorage})
	var emitted []authz.Event
	defer w.app.OnInvalidate(func(e authz.Event) { emitted = append(emitted, e) })()
	ids := map[string]string{} // by symbol
	symbols := map[string]string{}
	for i, s := range c.Steps {
		w.clock.Store(s.At)
		emitted = nil
		got := w.step(s, ids)
		body := got.decoded(t)
		w.bind(s.Created, body, ids, symbols)
		want := s.Expect.OK
		if fault, _ := want.Body["error"].(map[string]any); fault["name"] == "TypeError" {
			// An ambiguous principal: the contract answers validation (README of the vectors).
			want.Status = http.StatusUnprocessableEntity
			want.Body = map[string]any{"error": map[string]any{"name": "ProviderWriteRejectedError", "code": "validation"}}
		}
		delete(body, "log") // of epoch.head; the recording predates it
		if got.status != want.Status || got.header.Get("Content-Type") != want.ContentType {
			t.Errorf("step %d %s: status %d %s, want %d", i, s.Args.Path, got.status, got.body, want.Status)
		}
		if diff := gocmp.Diff(normalized(want.Body, nil), normalized(body, symbols)); diff != "" {
			t.Errorf("step %d %s (-want +got):\n%s", i, s.Args.Path, diff)
		}
		if diff := gocmp.Diff(any(orNone(s.Events)), rename(asJSON(t, emitted), symbols)); diff != "" {
			t.Errorf("step %d %s: events (-want +got):\n%s", i, s.Args.Path, diff)
		}
	}
	if diff := gocmp.Diff(normalized(c.Final.State, nil), normalized(w.state(), symbols)); diff != "" {
		t.Errorf("final state (-want +got):\n%s", diff)
	}
}

// step sends one request, with symbols replaced by the ids they are bound to.
func (w *world) step(s wireStep, ids map[string]string) answer {
	var authorization []string
	switch {
	case s.Args.Auth == nil:
	case *s.Args.Auth == "good":
		authorization = []string{"Bearer " + secret}
	default:
		authorization = []string{*s.Args.Auth}
	}
	body := ""
	if s.Args.Body != nil {
		body = *s.Args.Body
	} else if s.Args.JSON != nil {
		var v any
		if err := json.Unmarshal(s.Args.JSON, &v); err != nil {
			w.t.Fatal(err)
		}
		text, err := json.Marshal(rename(v, ids))
		if err != nil {
			w.t.Fatal(err)
		}
		body = string(text)
	}
	return w.send(cmp.Or(s.Args.Method, "POST"), s.Args.Path, body, authorization...)
}

// bind learns the ids of rows that a step created from what it returned; the grant
// of an approval is not returned but names the request.
func (w *world) bind(created []string, body map[string]any, ids, symbols map[string]string) {
	var returned []string
	if request, ok := body["request"].(map[string]any); ok {
		defer w.bindApproval(request["id"], created, ids, symbols)
	}
	for _, member := range body {
		switch row := member.(type) {
		case map[string]any:
			if id, ok := row["id"].(string); ok {
				returned = append(returned, id)
			}
		case []any:
			for _, item := range row {
				if row, ok := item.(map[string]any); ok {
					if id, ok := row["id"].(string); ok {
						returned = append(returned, id)
					}
				}
			}
		}
	}
	returned = slices.DeleteFunc(returned, func(id string) bool { return symbols[id] != "" })
	if len(returned) > len(created) {
		return
	}
	created = created[:len(returned)]
	for i, name := range created {
		if symbol.MatchString(name) && name != returned[i] {
			ids[name], symbols[returned[i]] = returned[i], name
		}
	}
}

func (w *world) bindApproval(request any, created []string, ids, symbols map[string]string) {
	for g, err := range w.store.ListGrants(w.t.Context(), storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if g.Provenance.RequestID == request && symbols[g.ID] == "" {
			name := created[len(created)-1]
			ids[name], symbols[g.ID] = g.ID, name
		}
	}
}

// rename replaces every string that is a key of names.
func rename(v any, names map[string]string) any {
	switch v := v.(type) {
	case string:
		if other, ok := names[v]; ok {
			return other
		}
		if kind, id, ok := strings.Cut(v, ":"); ok && names[id] != "" {
			return kind + ":" + names[id]
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = rename(v[i], names)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = rename(v[k], names)
		}
		return out
	}
	return v
}

// sets are the lists whose order the recording does not keep.
var sets = []string{"grants", "revokes", "roles", "groups", "users", "closure", "userIds"}

// normalized names rows by symbol, sorts sets and drops what is informative.
func normalized(v any, symbols map[string]string) any {
	v = rename(v, symbols)
	members, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, name := range sets {
		if list, ok := members[name].([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
	}
	if fault, ok := members["error"].(map[string]any); ok {
		kept := map[string]any{"name": fault["name"], "code": fault["code"]}
		if fault["code"] == "graph_cycle" || fault["name"] == "ProviderApiError" {
			kept["message"] = fault["message"]
		}
		if fault["code"] == nil { // status 500: the name only
			delete(kept, "code")
		}
		members["error"] = kept
	}
	return members
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func asJSON[T any](t testing.TB, rows []T) any {
	t.Helper()
	var out any
	if err := json.Unmarshal([]byte(text(orNone(rows))), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func nonNil(m map[string][]string) map[string][]string {
	if m == nil {
		return map[string][]string{}
	}
	return m
}

// state is everything in the store, as final.state has it.
func (w *world) state() map[string]any {
	ctx := context.Background()
	state := map[string]any{
		"grants":   rows(w.t, w.store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})),
		"revokes":  rows(w.t, w.store.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{})),
		"roles":    rows(w.t, w.store.ListRoles(ctx, storage.Page{})),
		"groups":   rows(w.t, w.store.ListGroups(ctx, storage.Page{})),
		"users":    rows(w.t, w.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{})),
		"requests": rows(w.t, w.store.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{})),
	}
	return state
}

func rows[T any](t testing.TB, list iter.Seq2[T, error]) any {
	t.Helper()
	var out []T
	for row, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return asJSON(t, out)
}
