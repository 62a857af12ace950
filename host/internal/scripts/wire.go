package scripts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// Wire is one case of provider-api.jsonl: requests with what they are answered,
// by an application that is called WireApplication and has WireSecret.
type Wire struct {
	Case
	Secret        string
	ApplicationID string
	Steps         []WireStep
}

// What the cases ask with.
const (
	WireApplication = "app-1"
	WireSecret      = "test-secret-0123456789"
)

// WireStep is one request and its answer.
type WireStep struct {
	Op string
	Time
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
	Events  []json.RawMessage
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
	r := newReplay(t, on.Surface, c.Case)
	for i, s := range c.Steps {
		where := fmt.Sprintf("step %d %s", i, s.Args.Path)
		if s.Op != "http" {
			t.Fatalf("%s: no step is called %s", where, s.Op)
		}
		s.Set(on.Now)
		got := r.send(on, s)
		heard := on.Heard(t)
		var body map[string]any
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatalf("%s: the answer is no JSON object: %q", where, got.Body)
		}
		r.bindReturned(s.Created, body)
		want := s.Expect.OK
		if fault, _ := want.Body["error"].(map[string]any); fault["name"] == "TypeError" {
			// An ambiguous principal is validation here (spec: provider-api §5.2).
			want.Status = http.StatusUnprocessableEntity
			want.Body = map[string]any{"error": map[string]any{"name": "ProviderWriteRejectedError", "code": "validation"}}
		}
		if _, recorded := want.Body["log"]; !recorded {
			delete(body, "log") // of epoch.head; the recording predates it
		}
		if _, recorded := want.Body["identity"]; !recorded {
			delete(body, "identity") // of positions; likewise
		}
		if got.ContentType != want.ContentType {
			t.Errorf("%s: content type %s, want %s", where, got.ContentType, want.ContentType)
		}
		r.compareAnswer(where, called{want.Status, want.Body}, called{got.Status, body})
		r.compare(where+" events", list(s.Events), heard)
	}
	r.compareFinal(c.Final)
}

// send posts one request, with symbols replaced by the ids they are bound to.
func (r *replay) send(on WireSurface, s WireStep) WireAnswer {
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
		body = r.placed(s.Args.JSON)
	}
	return on.Send(r.t, cmp.Or(s.Args.Method, "POST"), s.Args.Path, body, authorization...)
}

// bindReturned gives symbols to the rows that a step created: those that its answer
// has, and then the grants that it wrote besides, in the order of their insertion.
func (r *replay) bindReturned(created []string, body map[string]any) {
	if len(created) == 0 {
		return
	}
	ids := slices.DeleteFunc(returnedIDs(body), func(id string) bool { return r.names[id] != "" })
	for _, id := range r.unnamed() {
		if len(ids) < len(created) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == len(created) { // else the answer is another, which shows
		r.name(created, ids)
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
