package catalog

import (
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

// fields reads the members of one entry and collects what is wrong with them,
// to be reported under the entry's own path.
type fields struct {
	source *source
	under  string // the path of the entry in the source
	faults []fault
	here   place // of the member that is being read
}

func (f *fields) bad(field, problem string) { f.fault("", field, problem) }

func (f *fields) fault(code, field, problem string) {
	f.faults = append(f.faults, fault{field: field, problem: problem, code: code, at: f.here})
}

// members yields the members that are not null, each name once. In a source
// those that the shape does not have are reported.
func (f *fields) members(object *node, under string, s shape) iter.Seq[member] {
	return func(yield func(member) bool) {
		for m, repeated := range object.named() {
			f.source.note(f.under+"."+under+m.name, m.at)
			if f.source != nil {
				f.here = m.at
			}
			switch {
			case f.source != nil && !s.has(m.name):
				f.fault(CodeUnknownField, under+m.name, s.unknown(m.name))
				continue
			case repeated:
				f.bad(under+m.name, "is given more than once")
				continue
			}
			if m.value.kind != nullNode && !yield(m) {
				return
			}
		}
	}
}

func (f *fields) text(field string, n *node) string {
	if n.kind != stringNode {
		f.bad(field, "must be a string "+got(n))
	}
	return n.string()
}

func (f *fields) texts(field string, n *node) []string {
	list, ok := n.strings()
	if !ok {
		f.bad(field, "must be an array of strings "+got(n))
	}
	return list
}

func (f *fields) flag(field string, n *node) bool {
	if n.kind != boolNode {
		f.bad(field, "must be a boolean "+got(n))
	}
	return n.kind == boolNode && n.text == "true"
}

// list yields the items of an array.
func (f *fields) list(field string, n *node) []*node {
	if n.kind != arrayNode {
		f.bad(field, "must be an array "+got(n))
	}
	return n.items
}

// object yields the members of what must be an object.
func (f *fields) object(path string, n *node, s shape) iter.Seq[member] {
	if n.kind != objectNode {
		f.bad(path, "must be an object "+got(n))
	}
	return f.members(n, path+".", s)
}

// shape names the members that an object of a declaration may have. Without any
// the members are named by the declaration itself.
type shape struct {
	what    string
	members []string
}

var (
	inputShape       = shape{"the catalog input", []string{"namespaces", "permissions", "imports", "groups", "scopeTypes", "navigation", "conventions", "includeAuthzInternal", "constraints"}}
	blockShape       = shape{"a block", []string{"kind", "path", "group", "leaves"}}
	groupShape       = shape{"a group", []string{"label", "description", "scopes"}}
	leafShape        = shape{"a permission", []string{"label", "description", "kind", "destructive", "scopes", "impliedOnAncestors", "requiresCondition"}}
	importShape      = shape{"an import", []string{"from", "document", "scopes", "permissions", "strict"}}
	navigationShape  = shape{"a navigation entry", []string{"label", "href", "permission", "children"}}
	conventionsShape = shape{"conventions", []string{"depth"}}
	constraintsShape = shape{"constraints", []string{"sod"}}
	sodShape         = shape{"a separation of duties", []string{"id", "description", "sets"}}
	scopeTypeShape   = shape{"a scope type", []string{"description", "parent", "multiParent", "requestable"}}
	requestableShape = shape{"requestable", []string{"prompts", "maxDurationMs", "requireExpiry", "patterns", "policy"}}
	policyShape      = shape{"a policy", []string{"stages"}}
	promptShape      = shape{"a prompt", []string{"id", "label", "kind", "options", "required"}}
	stageShape       = shape{"a stage", []string{"kind", "roleId", "layers", "predicate"}}
	predicateShape   = shape{"a predicate", []string{"type", "groupId", "orgId", "subject", "pattern"}}
	anyNames         = shape{}
)

func (s shape) has(name string) bool { return s.members == nil || slices.Contains(s.members, name) }

// unknown says what to write in place of a name that the shape does not have.
func (s shape) unknown(name string) string {
	problem := "is not a field of " + s.what
	if near := spell.Nearest(name, s.members); near != "" {
		return problem + ". Did you mean " + spell.Quote(near) + "?"
	}
	return problem + ", which has " + strings.Join(s.members, ", ")
}
