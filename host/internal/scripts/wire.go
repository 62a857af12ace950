package scripts

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/storage"
)

// Wire is one case of provider-api.jsonl: requests with what they are answered,
// by an application that is called WireApplication and has WireSecret.
type Wire struct {
	ID             string
	Catalog        json.RawMessage
	ScopeParents   map[string][]string
	Secret         string
	ApplicationID  string
	WithoutStorage bool
	DriverWithout  []string // methods
	Options        Options
	Handler        Handler
	Steps          []WireStep
	Final          struct{ State map[string]any }
}

// What the cases ask with.
const (
	WireApplication = "app-1"
	WireSecret      = "test-secret-0123456789"
)

// WireStep is one request and its answer.
type WireStep struct {
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

// WireSurface is an application behind HTTP.
type WireSurface struct {
	Surface

	// Send posts to a path below the application's own base.
	Send func(t testing.TB, method, path, body string, authorization ...string) WireAnswer
}

// WireAnswer is a response.
type WireAnswer struct {
	Status      int
	ContentType string
	Body        []byte
}

// RunWire replays the requests of a case on an application that is empty.
func RunWire(t testing.TB, c Wire, on WireSurface) {
	t.Helper()
	if c.ApplicationID != WireApplication || c.Secret != WireSecret {
		t.Fatalf("the case is about the application %s", c.ApplicationID)
	}
	w := &wireReplay{t: t, on: on, ids: map[string]string{}, symbols: map[string]string{}}
	for i, s := range c.Steps {
		if s.Op != "http" {
			t.Fatalf("step %d: no step is called %s", i, s.Op)
		}
		on.Now.Store(s.At)
		got := w.send(s)
		heard := on.Heard(t)
		var body map[string]any
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatalf("step %d %s: the answer is no JSON object: %q", i, s.Args.Path, got.Body)
		}
		w.bind(s.Created, body)
		want := s.Expect.OK
		if fault, _ := want.Body["error"].(map[string]any); fault["name"] == "TypeError" {
			// An ambiguous principal: the contract answers validation (provider-api.md §5.2).
			want.Status = http.StatusUnprocessableEntity
			want.Body = map[string]any{"error": map[string]any{"name": "ProviderWriteRejectedError", "code": "validation"}}
		}
		delete(body, "log") // of epoch.head; the recording predates it
		if got.Status != want.Status || got.ContentType != want.ContentType {
			t.Errorf("step %d %s: status %d %s, want %d", i, s.Args.Path, got.Status, got.Body, want.Status)
		}
		if diff := gocmp.Diff(normalized(want.Body, nil), normalized(body, w.symbols)); diff != "" {
			t.Errorf("step %d %s (-want +got):\n%s", i, s.Args.Path, diff)
		}
		told := append([]any{}, s.Events...)
		if diff := gocmp.Diff(any(told), named(Plain(t, heard), w.symbols)); diff != "" {
			t.Errorf("step %d %s: events (-want +got):\n%s", i, s.Args.Path, diff)
		}
	}
	stored := Stored(t, on.Store)
	maps.DeleteFunc(stored, func(kind string, _ any) bool { _, wanted := c.Final.State[kind]; return !wanted })
	if diff := gocmp.Diff(normalized(c.Final.State, nil), normalized(Plain(t, stored), w.symbols)); diff != "" {
		t.Errorf("final state (-want +got):\n%s", diff)
	}
}

type wireReplay struct {
	t       testing.TB
	on      WireSurface
	ids     map[string]string // by symbol
	symbols map[string]string // by id
}

// send posts one request, with symbols replaced by the ids they are bound to.
func (w *wireReplay) send(s WireStep) WireAnswer {
	var authorization []string
	switch {
	case s.Args.Auth == nil:
	case *s.Args.Auth == "good":
		authorization = []string{"Bearer " + WireSecret}
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
		text, err := json.Marshal(rename(v, w.ids))
		if err != nil {
			w.t.Fatal(err)
		}
		body = string(text)
	}
	return w.on.Send(w.t, cmp.Or(s.Args.Method, "POST"), s.Args.Path, body, authorization...)
}

// symbol is how the cases name rows.
var symbol = regexp.MustCompile(`^(G|R|Q|ROLE|GROUP)[0-9]+$`)

// bind learns the ids of rows that a step created: of those that it returned, and
// then of the grants that it wrote besides, in the order of their insertion.
func (w *wireReplay) bind(created []string, body map[string]any) {
	unnamed := func(id string) bool { return w.symbols[id] == "" }
	ids := slices.DeleteFunc(returnedIDs(body), func(id string) bool { return !unnamed(id) })
	if len(ids) > len(created) {
		return
	}
	for _, g := range rows(w.t, w.on.Store.ListGrants(w.t.Context(), storage.GrantFilter{}, storage.Page{})) {
		if len(ids) < len(created) && unnamed(g.ID) && !slices.Contains(ids, g.ID) {
			ids = append(ids, g.ID)
		}
	}
	for i, name := range created[:len(ids)] {
		if symbol.MatchString(name) && name != ids[i] {
			w.ids[name], w.symbols[ids[i]] = ids[i], name
		}
	}
}

// returnedIDs are the ids of the rows in an answer.
func returnedIDs(body map[string]any) (ids []string) {
	for _, member := range body {
		switch row := member.(type) {
		case map[string]any:
			if id, ok := row["id"].(string); ok {
				ids = append(ids, id)
			}
		case []any:
			for _, item := range row {
				if row, ok := item.(map[string]any); ok {
					if id, ok := row["id"].(string); ok {
						ids = append(ids, id)
					}
				}
			}
		}
	}
	return ids
}
