package verify

import (
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"

	"github.com/authzhost/authz/internal/spell"
)

// calleeName is the final name of a call's callee, "" for a callee without one.
func calleeName(call *ts.Node) string {
	callee := call.Expression()
	if callee.Kind == ts.KindPropertyAccess {
		callee = callee.Name()
	}
	if callee.Kind != ts.KindIdentifier {
		return ""
	}
	return callee.Text()
}

// call judges a call by the name of what it calls (spec: verifier §4.1).
func (r *reader) call(n *ts.Node) {
	name := calleeName(n)
	use := r.use(n, name)
	if use == (Use{}) {
		return
	}
	r.calls = append(r.calls, n)
	var conditional []string
	pending := r.pending(n, use)
	literal := func(n *ts.Node) {
		if n.Kind != ts.KindStringLiteral && n.Kind != ts.KindPlainTemplate {
			return
		}
		v := r.scanner.judge.Literal(n.Text(), use)
		if v.Key != "" {
			r.keys[v.Key] = true
		}
		if v.Pattern != "" {
			r.patterns[v.Pattern] = true
		}
		if v.Conditional {
			conditional = append(conditional, spell.Quote(v.Key))
			pending.conditional(conditional[len(conditional)-1])
		}
		if v.Rule != "" {
			r.report(r.start(n), Finding{Severity: v.Severity, Rule: v.Rule, Message: v.Message, Instead: v.Instead})
		}
	}
	for _, argument := range n.Arguments() {
		if argument.Kind == ts.KindArrayLiteral {
			for _, element := range argument.Elements() {
				literal(element)
			}
		}
		literal(argument)
		pending.argument(r, argument)
	}
	if use.Visibility && (r.server || r.serves(n)) {
		r.fail(RuleVisibilityAsGate, r.start(n), spell.Echo(name)+
			"() is a visibility affordance, never a gate — server actions and route handlers gate on a concrete permission (can/require*)")
	}
	visible := !use.Gate || conditionVisible(n.Arguments())
	if pending.keep(r, n, visible) {
		r.discards(n, name, use)
		return
	}
	if len(conditional) > 0 && !visible {
		r.fail(RuleMissingCondition, r.start(n), MissingCondition(conditional))
	}
	r.discards(n, name, use)
}

// use is what a call is for.
func (r *reader) use(n *ts.Node, name string) Use {
	use := Use{Gate: r.scanner.gates[name], Visibility: r.scanner.visible[name]}
	if use.Gate && r.module != nil && r.loadsModule(n) {
		use.Gate = false
	}
	return use
}

// MissingCondition words the issue for quoted keys that are declared
// requiresCondition.
func MissingCondition(quoted []string) string {
	are := " is"
	if len(quoted) > 1 {
		are = " are"
	}
	return strings.Join(quoted, " or ") + are + " declared `requiresCondition: true` — the gate must pass " +
		"`{ condition: () => … }` evaluating the resource predicate; without it the check throws MissingConditionError at runtime"
}

// conditionVisible looks at the last argument of a gate (spec: verifier §5.1).
func conditionVisible(arguments []*ts.Node) bool {
	if len(arguments) == 0 {
		return false
	}
	switch last := arguments[len(arguments)-1]; last.Kind {
	case ts.KindStringLiteral, ts.KindPlainTemplate, ts.KindArrayLiteral, ts.KindNumericLiteral, ts.KindBigIntLiteral:
		return false
	case ts.KindObjectLiteral:
		for _, property := range last.Properties() {
			if isCondition(property) {
				return true
			}
		}
		return false
	}
	return true // the check at run time decides
}

func isCondition(property *ts.Node) bool {
	switch property.Kind {
	case ts.KindSpreadAssignment:
		return true
	case ts.KindPropertyAssignment, ts.KindShorthandProperty, ts.KindMethodDeclaration, ts.KindGetAccessor, ts.KindSetAccessor:
		name := property.Name()
		return name != nil && (name.Kind == ts.KindIdentifier || name.Kind == ts.KindStringLiteral) && name.Text() == "condition"
	}
	return false
}
