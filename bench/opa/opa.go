// Package opa holds the world as OPA data under a small Rego policy, asked by a
// prepared query over a store that keeps values in the form that evaluation reads.
package opa

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

//go:embed policy.rego
var policy string

// Prepared asks through a prepared query.
func Prepared() engine.Peer {
	return engine.Peer{Name: "opa", Module: "github.com/open-policy-agent/opa",
		Model: "Rego over objects keyed by subject, scope and key; prepared query; store optimised for reads; parsed input",
		Load:  load}
}

type held struct{ query rego.PreparedEvalQuery }

func load(ctx context.Context, w *workload.World) (engine.Engine, error) {
	store := inmem.NewFromObjectWithOpts(document(w), inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true))
	query, err := rego.New(
		rego.Query("data.authz.allow"),
		rego.Module("policy.rego", policy),
		rego.Store(store),
	).PrepareForEval(ctx)
	if err != nil {
		return nil, fmt.Errorf("opa: %w", err)
	}
	return &held{query}, nil
}

func scopeID(s workload.ScopeID) string {
	if s.Kind == workload.Global {
		return "*"
	}
	return s.ID
}

// document is the data: objects wherever something is looked up, as OPA's guide to
// performance wants them.
func document(w *workload.World) map[string]any {
	groups, parents := map[string]any{}, map[string]any{"*": []any{}}
	for _, g := range w.Groups {
		groups[g.ID] = list(g.Parents)
	}
	for _, u := range w.Users {
		groups[u.ID] = list(u.Groups)
	}
	for _, s := range w.Scopes {
		parents[s.ID] = []any{scopeID(s.Parent)}
	}
	conferring := map[string]any{}
	for _, key := range w.Keys {
		names := map[string]any{key: true, workload.Area(key): true}
		for _, r := range w.Roles {
			for _, p := range r.Patterns {
				if workload.Covers(p, key) {
					names[r.ID] = true
				}
			}
		}
		conferring[key] = names
	}
	grants, revokes := map[string]any{}, map[string]any{}
	for _, g := range w.Grants {
		add(grants, g.Subject.ID, scopeID(g.Scope), g.Role+g.Pattern)
	}
	for _, r := range w.Revokes {
		add(revokes, r.User, scopeID(r.Scope), r.Pattern)
	}
	return map[string]any{"groups": groups, "parents": parents, "conferring": conferring, "grants": grants, "revokes": revokes}
}

// add appends a name to rows[subject][scope].
func add(rows map[string]any, subject, scope, name string) {
	scopes, ok := rows[subject].(map[string]any)
	if !ok {
		scopes = map[string]any{}
		rows[subject] = scopes
	}
	names, _ := scopes[scope].([]any)
	scopes[scope] = append(names, name)
}

func list(ids []string) []any {
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	return all
}

// Ask readies the inputs' strings.
func (h *held) Ask(ctx context.Context, questions []workload.Question) (engine.Check, error) {
	type request struct{ user, key, scope string }
	asked := make([]request, len(questions))
	for i, q := range questions {
		asked[i] = request{q.User, q.Key, scopeID(q.Scope)}
	}
	user, key, scope := ast.StringTerm("user"), ast.StringTerm("key"), ast.StringTerm("scope")
	return func(i int) (bool, error) {
		q := &asked[i]
		input := ast.NewObject(
			ast.Item(user, ast.StringTerm(q.user)),
			ast.Item(key, ast.StringTerm(q.key)),
			ast.Item(scope, ast.StringTerm(q.scope)))
		result, err := h.query.Eval(ctx, rego.EvalParsedInput(input))
		if err != nil {
			return false, err
		}
		if len(result) != 1 || len(result[0].Expressions) != 1 {
			return false, fmt.Errorf("opa: the query has no value: %v", result)
		}
		allowed, ok := result[0].Expressions[0].Value.(bool)
		if !ok {
			return false, fmt.Errorf("opa: the query answers %v", result[0].Expressions[0].Value)
		}
		return allowed, nil
	}, nil
}

// Close has nothing to end.
func (h *held) Close() {}
