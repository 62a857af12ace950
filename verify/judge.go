package verify

import (
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Use says what the call that names a literal is for. A name may be both.
type Use struct {
	Gate       bool
	Visibility bool
}

// Verdict is what a literal amounts to. The zero value means that it is none of
// the verifier's business.
type Verdict struct {
	// Key or Pattern is what the literal references, "" when nothing.
	Key     string
	Pattern string

	// Conditional: the key is a leaf that is declared requiresCondition.
	Conditional bool

	// Rule is "" when nothing is wrong.
	Rule     Rule
	Severity authz.Severity
	Message  string
	Instead  []string // names that could replace the literal, closest first
}

// Judge classifies the literals of recognised calls (spec: verifier §4.3). It
// is immutable and safe for concurrent use.
type Judge struct {
	catalog   *catalog.Catalog
	policy    Policy
	allowed   map[string]bool
	ownerKeys map[string][]string
}

// NewJudge takes what concerns the vocabulary from the configuration. The error
// is an *OptionError.
func NewJudge(config Config) (*Judge, error) {
	if config.Catalog == nil {
		return nil, &OptionError{Option: "Catalog", Reason: "is required"}
	}
	if err := oneOf("ImportSource", config.ImportSource, "", SourceRegistry, SourceNone); err != nil {
		return nil, err
	}
	if err := oneOf("ImplicitImports", config.ImplicitImports, "", PolicyError, PolicyWarn, PolicyOff); err != nil {
		return nil, err
	}
	j := &Judge{
		catalog: config.Catalog, policy: config.ImplicitImports,
		allowed: setOf(config.ImplicitImportAllow), ownerKeys: config.OwnerKeys,
	}
	source := config.ImportSource
	if source == "" && imports(config.Catalog) {
		source = SourceRegistry
	}
	switch {
	case j.policy != "":
	case source == SourceRegistry:
		j.policy = PolicyWarn
	default:
		j.policy = PolicyError
	}
	return j, nil
}

func imports(c *catalog.Catalog) bool {
	return slices.ContainsFunc(c.Namespaces(), func(ns string) bool {
		return c.NamespaceOrigin(ns) == authz.NamespaceImported
	})
}

// Literal judges one literal.
func (j *Judge) Literal(value string, use Use) Verdict {
	if !authz.IsPattern(value) {
		return Verdict{}
	}
	ns := authz.NamespaceOf(value)
	rule := RuleUnknownPattern
	switch {
	case value == authz.Global:
		if !use.Visibility {
			return Verdict{} // the global scope
		}
	case ns == value:
		if !j.isGroup(value) {
			return Verdict{} // prose
		}
	default:
		switch j.catalog.NamespaceOrigin(ns) {
		case authz.NamespaceImported:
			rule = RuleUnknownImport
		case authz.NamespaceForeign:
			return j.foreign(value, ns)
		}
	}
	if j.catalog.HasKey(value) {
		leaf, ok := j.catalog.Leaf(value)
		return Verdict{Key: value, Conditional: ok && leaf.RequiresCondition}
	}
	if !j.catalog.IsKnownPattern(value) {
		return j.unknown(value, rule)
	}
	v := Verdict{Pattern: value}
	switch {
	case !use.Gate || value == authz.Global:
	case authz.IsWildcard(value):
		v.Rule, v.Severity = rule, authz.SeverityError
		v.Message = spell.Quote(value) + " is a pattern, not a permission key — a gate checks one concrete key; " +
			"patterns are for visibility questions and for grants"
	default: // a key of a strict region
		v = j.unknown(value, rule)
		v.Pattern = value
	}
	return v
}

func (j *Judge) isGroup(path string) bool {
	g, ok := j.catalog.Group(path)
	return ok && !g.Hollow
}

func (j *Judge) foreign(value, ns string) Verdict {
	if j.policy == PolicyOff || j.allowed[ns] {
		return Verdict{}
	}
	v := Verdict{Rule: RuleImplicitImport, Severity: authz.SeverityError}
	v.Message = spell.Quote(value) + " is in namespace " + spell.Quote(ns) + ", which this catalog neither owns nor imports"
	if j.policy == PolicyWarn {
		v.Severity = authz.SeverityWarning
		v.Message += " — declare it: imports: { " + spell.Echo(ns) + ": { permissions: { " + spell.Quote(value) + ": true } } }"
		return v
	}
	v.Message += ". If it belongs to another application, declare it in the catalog's `imports`; " +
		"otherwise it is a typo, and this check will throw at runtime"
	return v
}

func (j *Judge) unknown(value string, rule Rule) Verdict {
	v := Verdict{Rule: rule, Severity: authz.SeverityError}
	a := j.catalog.Advise(value, authz.ExpectedPattern, j.ownerKeys[authz.NamespaceOf(value)])
	if a.Suggestion != "" {
		v.Instead = []string{a.Suggestion}
		v.Message = spell.Quote(value) + " is a group, not a key — groups are folders, and subtree patterns end in .*: did you mean " +
			spell.Quote(a.Suggestion) + "?"
		return v
	}
	v.Instead = a.DidYouMean
	v.Message = spell.Quote(value) + " is not in the catalog (typo, or an undeclared key)"
	if len(a.DidYouMean) > 0 {
		v.Message += " — did you mean " + a.List() + "?"
	}
	if a.Hint != "" {
		v.Message += " (" + a.Hint + ")"
	}
	return v
}
