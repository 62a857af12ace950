package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// checkScopeTypes is step 5: each type, then every parent.
func (b *builder) checkScopeTypes() {
	b.scopeTypes = make(map[string]*ScopeType, len(b.in.ScopeTypes))
	var kept []ScopeType // one that fails the grammar is not looked at further
	for i := range b.in.ScopeTypes {
		t := &b.in.ScopeTypes[i]
		ns := authz.NamespaceOf(t.Type)
		if !authz.IsKey(t.Type) || ns == t.Type {
			b.issues.add(CodeBadScopeType, t.Type, "invalid scope type: scope types are dotted like permissions, as in docs.folder")
			continue
		}
		b.scopeTypes[t.Type] = t
		kept = append(kept, *t)
		if !b.isOwned[ns] {
			b.issues.add(CodeScopeTypeNamespace, t.Type, "scope type is outside the declared namespaces")
		}
		for _, f := range b.in.faultsOf(t) {
			if at, ok := b.in.places.Within(scopeTypePlace + t.Type + "." + f.Field); ok && f.At.Line == 0 {
				f.At = at
			}
			b.issues.addFault(CodeBadRequestable, t.Type, f)
		}
	}
	for _, t := range kept {
		if t.Parent != "" && b.scopeTypes[t.Parent] == nil {
			b.issues.add(CodeUnknownParent, t.Type, "parent scope type "+spell.Quote(t.Parent)+" is not declared")
		}
	}
	cyclic := parentCycles(kept)
	for _, t := range kept {
		if through := cyclic[t.Type]; through != "" {
			b.issues.add(CodeParentCycle, t.Type, "scope type parentage is cyclic through "+spell.Quote(through))
		}
	}
}

// parentCycles finds the types on or leading into a cycle of two or more types,
// and the first type on the cycle that each of them reaches. A type naming
// itself ends the walk. Every type is walked once.
func parentCycles(types []ScopeType) map[string]string {
	parent := make(map[string]string, len(types))
	for _, t := range types {
		if t.Parent != t.Type {
			parent[t.Type] = t.Parent
		}
	}
	through := map[string]string{}
	done := make(map[string]bool, len(types))
	for _, t := range types {
		var walk []string
		onWalk := map[string]int{}
		at := t.Type
		for at != "" && !done[at] {
			done[at] = true
			onWalk[at] = len(walk)
			walk = append(walk, at)
			at = parent[at]
		}
		reached := through[at]
		if start, closed := onWalk[at]; closed {
			for _, member := range walk[start:] {
				through[member] = member
			}
			walk, reached = walk[:start], at
		}
		if reached != "" {
			for _, lead := range walk {
				through[lead] = reached
			}
		}
	}
	return through
}

// faultsOf are all faults of a type's requestable: of its form, and of the values that
// have their form.
func (in *Input) faultsOf(t *ScopeType) []text.Fault {
	faults := in.requestableFaults[t.Type]
	if t.Requestable == nil {
		return faults
	}
	all := slices.Clone(faults)
	for _, f := range checkRequestable(t.Requestable) {
		if !slices.ContainsFunc(faults, func(told text.Fault) bool { return within(f.Field, told.Field) }) {
			all = append(all, f)
		}
	}
	return all
}

// within tells whether a field is another one or a part of it.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// requestableCheck judges values, whether they were read or written in Go.
type requestableCheck struct{ text.Fields }

// checkRequestable finds the fields of a requestable declaration that break the
// rules (spec: catalog §2.4).
func checkRequestable(r *Requestable) []text.Fault {
	f := requestableCheck{}
	asked := map[string]bool{}
	for i, p := range r.Prompts {
		at := "requestable.prompts" + text.Index(i)
		f.required(at+".id", p.ID)
		f.required(at+".label", p.Label)
		if p.Kind != "" && p.Kind != PromptText && p.Kind != PromptSelect {
			f.Bad(at+".kind", `must be "text" or "select" — got `+spell.Quote(p.Kind))
		}
		if asked[p.ID] {
			f.Bad(at+".id", "is repeated: "+spell.Quote(p.ID))
		}
		asked[p.ID] = true
	}
	if r.MaxDurationMs < 0 || r.MaxDurationMs > authz.MaxInstant {
		f.Bad("requestable.maxDurationMs", "must be a whole number of milliseconds above 0 — got "+strconv.FormatInt(r.MaxDurationMs, 10))
	}
	for i, p := range r.Patterns {
		if invalid := authz.ValidatePattern(p); invalid != nil {
			f.Bad("requestable.patterns"+text.Index(i), spell.Quote(p)+": "+invalid.Reason)
		}
	}
	for i, s := range r.Stages {
		f.checkStage("requestable.policy.stages"+text.Index(i), s)
	}
	return f.Faults
}

func (f *requestableCheck) checkStage(at string, s authz.Stage) {
	switch s.Kind {
	case authz.StageAuto:
		if s.Predicate == nil {
			f.Bad(at+".predicate", "is required")
			return
		}
		f.checkPredicate(at+".predicate", *s.Predicate)
	case authz.StageNamedApprovers:
		f.required(at+".roleId", s.RoleID)
	case authz.StageManagement:
		if s.Layers != nil && (*s.Layers < 1 || *s.Layers > authz.MaxInstant) {
			f.Bad(at+".layers", "must be an integer of at least 1 — got "+strconv.FormatInt(*s.Layers, 10))
		}
	default:
		f.Bad(at+".kind", "is no stage kind — got "+spell.Quote(s.Kind))
	}
}

func (f *requestableCheck) checkPredicate(at string, p authz.Predicate) {
	switch p.Type {
	case authz.PredicateInGroup:
		f.required(at+".groupId", p.GroupID)
	case authz.PredicateInOrg:
		f.required(at+".orgId", p.OrgID)
	case authz.PredicateMemberOf:
		f.required(at+".subject", p.Subject)
	case authz.PredicateHoldsPattern:
		f.required(at+".pattern", p.Pattern)
	default:
		f.Bad(at+".type", "is no predicate type — got "+spell.Quote(p.Type))
	}
}

func (f *requestableCheck) required(field, value string) {
	if value == "" {
		f.Bad(field, "must be a non-empty string")
	}
}

// checkLeafScopes begins step 7: the scope types of owned leaves, inheritance
// applied.
func (b *builder) checkLeafScopes() {
	for _, d := range b.leaves {
		if d.sound {
			b.checkScopeReferences(d.Key, b.scopesOf(d.Permission))
		}
	}
}

// checkGroupScopes ends step 7.
func (b *builder) checkGroupScopes() {
	for _, path := range b.groupList {
		b.checkScopeReferences(path, b.groups[path].Scopes)
	}
}

func (b *builder) checkScopeReferences(path string, scopes []string) {
	for _, t := range scopes {
		if b.scopeTypes[t] == nil {
			b.issues.add(CodeUnknownScopeType, path, "references undeclared scope type "+spell.Quote(t))
		}
	}
}

// scopesOf returns the leaf's scope types or those of the nearest enclosing
// group that declares any; never nil.
func (b *builder) scopesOf(p Permission) []string {
	if p.Scopes != nil {
		return distinct(p.Scopes)
	}
	for path := parentPath(p.Key); path != ""; path = parentPath(path) {
		if g := b.groups[path]; g != nil && g.Scopes != nil {
			return slices.Clone(g.Scopes)
		}
	}
	return []string{}
}
