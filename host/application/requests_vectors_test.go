package application_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestVectorsRequests(t *testing.T) {
	covered := func(s script) bool {
		return !slices.ContainsFunc(s.Steps, func(step scriptStep) bool { return operations[step.Op] == nil })
	}
	vectors.Replay(t, "requests.jsonl", covered, func(t *testing.T, s script) { newReplay(t, s).run(s) })
}

// ofRequest lists the rows that an operation on the request made and that have no
// symbol yet: the request itself, and the grant of its approval.
func (r *replay) ofRequest(row authz.Request) []string {
	var made []string
	if r.names[row.ID] == "" {
		made = append(made, row.ID)
	}
	for _, g := range rows(r.t, r.store.ListGrants(r.t.Context(), storage.GrantFilter{}, storage.Page{})) {
		if g.Provenance.RequestID == row.ID && r.names[g.ID] == "" {
			made = append(made, g.ID)
		}
	}
	return made
}

// outlined is a list of requests as the scripts keep it.
func outlined(list []authz.Request) []map[string]any {
	out := make([]map[string]any, len(list))
	for i, q := range list {
		out[i] = map[string]any{"id": q.ID, "state": q.State, "stageIndex": q.StageIndex}
	}
	return out
}

// withoutTerms leaves out what the final state of the scripts does.
func withoutTerms(t *testing.T, list []authz.Request) []any {
	out := make([]any, len(list))
	for i, q := range list {
		raw, err := json.Marshal(q)
		must(t, err)
		row, _ := decoded(t, raw).(map[string]any)
		delete(row, "justification")
		delete(row, "stages")
		out[i] = row
	}
	return out
}
