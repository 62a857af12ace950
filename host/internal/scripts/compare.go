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

// compare compares by value. Lists of rows are sorted on both sides: a symbol
// does not sort as the id that it stands for.
func (r *replay) compare(what string, want json.RawMessage, got any) {
	r.t.Helper()
	if answer, ok := got.(called); ok {
		var wanted called
		must(r.t, json.Unmarshal(want, &wanted))
		if diff := cmp.Diff(any(called{wanted.Status, normalized(wanted.Body, nil).(map[string]any)}),
			any(called{answer.Status, normalized(answer.Body, r.names).(map[string]any)})); diff != "" {
			r.t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		return
	}
	encoded, err := json.Marshal(got)
	must(r.t, err)
	w, g := fixed(Decoded(r.t, want)), fixed(Decoded(r.t, []byte(r.symbols(string(encoded)))))
	if supply, ok := g.(map[string]any); ok && supply["closure"] != nil {
		for _, set := range []string{"closure", "grantIds", "revokeIds", "roleIds", "unresolvedRoleIds"} {
			SortJSON(supply[set]) // by symbol
		}
	}
	switch got.(type) {
	case []authz.Grant, []authz.Revoke, []authz.Role, []authz.Group, []authz.User:
		SortJSON(w)
		SortJSON(g)
	}
	if diff := cmp.Diff(w, g); diff != "" {
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

// outlined is a list of requests as the scripts keep it.
func outlined(list iter.Seq2[authz.Request, error]) (any, error) {
	found, err := collected(list)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(found))
	for i, q := range found {
		out[i] = map[string]any{"id": q.ID, "state": q.State, "stageIndex": q.StageIndex}
	}
	return out, nil
}

// withoutTerms leaves out what the final state of the scripts does.
func withoutTerms(t testing.TB, list []authz.Request) []any {
	out := make([]any, len(list))
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
