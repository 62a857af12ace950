package scripts

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
)

// compare compares by value. Rows and sets are sorted on both sides: a symbol does
// not sort as the id that it stands for.
func (r *replay) compare(what string, want json.RawMessage, got any) {
	r.t.Helper()
	if answer, ok := got.(called); ok {
		var wanted called
		must(r.t, strictly(want, &wanted))
		r.compareAnswer(what, wanted, answer)
		return
	}
	encoded, err := json.Marshal(got)
	must(r.t, err)
	w, g := settled(fixed(Decoded(r.t, want))), settled(fixed(Decoded(r.t, []byte(r.symbols(string(encoded))))))
	switch got.(type) {
	case []authz.Grant, []authz.Revoke, []authz.Role, []authz.Group, []authz.User, []authz.Request, outlines:
		SortJSON(w)
		SortJSON(g)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// compareAnswer compares what the wire answered.
func (r *replay) compareAnswer(what string, want, got called) {
	r.t.Helper()
	if got.Status != want.Status {
		r.t.Errorf("%s: status %d %v, want %d", what, got.Status, got.Body, want.Status)
	}
	wanted, answered := normalized(want.Body, nil), normalized(got.Body, r.names)
	if fault, ok := wanted["error"].(map[string]any); ok {
		wanted["error"] = comparable(fault, fault)
		if got, ok := answered["error"].(map[string]any); ok {
			answered["error"] = comparable(got, fault)
		}
	}
	if diff := cmp.Diff(wanted, answered); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// SortJSON sorts a list by its text; what is no list stays.
func SortJSON(v any) {
	list, _ := v.([]any)
	slices.SortFunc(list, func(a, b any) int {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return bytes.Compare(x, y)
	})
}

// Decoded is a JSON text whose numbers keep their form.
func Decoded(t testing.TB, raw []byte) any {
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

func withoutID(t testing.TB, e authz.AuditEntry) any {
	t.Helper()
	raw, err := json.Marshal(e)
	must(t, err)
	entry, _ := Decoded(t, raw).(map[string]any)
	for _, member := range []string{"id", "hash", "prevHash"} { // which the scripts leave out
		delete(entry, member)
	}
	return entry
}

// outlines are requests as the scripts keep lists of them.
type outlines []map[string]any

func outlined(list iter.Seq2[authz.Request, error]) (any, error) {
	found, err := collected(list)
	if err != nil {
		return nil, err
	}
	out := make(outlines, len(found))
	for i, q := range found {
		out[i] = map[string]any{"id": q.ID, "state": q.State, "stageIndex": q.StageIndex}
	}
	return out, nil
}

// haveTerms tells whether a final state keeps what requests.jsonl leaves out of its own.
func haveTerms(requests []json.RawMessage) bool {
	var q struct{ Stages json.RawMessage }
	return len(requests) == 0 || json.Unmarshal(requests[0], &q) != nil || q.Stages != nil
}

// withoutTerms leaves those out.
func withoutTerms(t testing.TB, list []authz.Request) outlines {
	out := make(outlines, len(list))
	for i, q := range list {
		raw, err := json.Marshal(q)
		must(t, err)
		row, _ := Decoded(t, raw).(map[string]any)
		delete(row, "justification")
		delete(row, "stages")
		out[i] = row
	}
	return out
}

func collected[Row any](list iter.Seq2[Row, error]) ([]Row, error) {
	found := []Row{}
	for row, err := range list {
		if err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, nil
}

// listed is the answer of an operation that lists.
func listed[Row any](list iter.Seq2[Row, error]) (any, error) { return orNil(collected(list)) }

func rows[Row any](t testing.TB, list iter.Seq2[Row, error]) []Row {
	t.Helper()
	found, err := collected(list)
	must(t, err)
	return found
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func orNil[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
