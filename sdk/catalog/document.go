package catalog

import (
	"github.com/authzhost/authz/sdk/authz"
)

// FormatVersion is the version of the catalog document written here.
const FormatVersion = 1

// wireDocument is the published form (spec: catalog §6), members in its
// order.
type wireDocument struct {
	FormatVersion int              `json:"formatVersion"`
	Namespace     string           `json:"namespace"`
	Namespaces    []string         `json:"namespaces"`
	Leaves        []*Leaf          `json:"leaves"`
	Groups        []*Folder        `json:"groups"`
	ScopeTypes    []ScopeType      `json:"scopeTypes"`
	Navigation    []wireNavItem    `json:"navigation"`
	Conventions   Conventions      `json:"conventions"`
	Constraints   *wireConstraints `json:"constraints,omitempty"`
}

type wireConstraints struct {
	SoD []SoDConstraint `json:"sod"`
}

// Document writes the catalog document, what the catalog owns: the same bytes for
// the same declaration, without HTML escaping.
func (c *Catalog) Document() ([]byte, error) {
	d := wireDocument{
		FormatVersion: FormatVersion,
		Namespace:     c.Namespace(),
		Namespaces:    c.owned,
		Leaves:        []*Leaf{},
		Groups:        []*Folder{},
		ScopeTypes:    c.scopeTypes,
		Navigation:    wireNavigation(c.navigation),
		Conventions:   c.depth,
	}
	for _, key := range c.keys {
		if leaf := c.leaves[key]; leaf.Origin == authz.NamespaceOwned {
			d.Leaves = append(d.Leaves, leaf)
		}
	}
	for _, path := range c.groupPaths {
		if g := c.groups[path]; g.Origin == authz.NamespaceOwned {
			d.Groups = append(d.Groups, g)
		}
	}
	if len(c.sod) > 0 {
		d.Constraints = &wireConstraints{SoD: c.sod}
	}
	return authz.Marshal(d)
}

// MarshalJSON writes a depth, or "any".
func (c Conventions) MarshalJSON() ([]byte, error) {
	if c.AnyDepth {
		return []byte(`{"depth":"any"}`), nil
	}
	return authz.Marshal(struct {
		Depth int64 `json:"depth"`
	}{c.Depth})
}

// MarshalJSON writes the scope type as the document holds it: parent null when
// there is none.
func (t ScopeType) MarshalJSON() ([]byte, error) {
	w := struct {
		Type        string       `json:"type"`
		Description string       `json:"description,omitempty"`
		Parent      *string      `json:"parent"`
		MultiParent bool         `json:"multiParent"`
		Requestable *Requestable `json:"requestable,omitempty"`
	}{Type: t.Type, Description: t.Description, MultiParent: t.MultiParent, Requestable: t.Requestable}
	if t.Parent != "" {
		w.Parent = &t.Parent
	}
	return authz.Marshal(w)
}

// MarshalJSON writes the declared form, stages under "policy".
func (r Requestable) MarshalJSON() ([]byte, error) {
	type policy struct {
		Stages []authz.Stage `json:"stages"`
	}
	w := struct {
		Prompts       []wirePrompt `json:"prompts,omitzero"`
		MaxDurationMs int64        `json:"maxDurationMs,omitempty"`
		RequireExpiry bool         `json:"requireExpiry,omitempty"`
		Patterns      []string     `json:"patterns,omitzero"`
		Policy        policy       `json:"policy"`
	}{
		MaxDurationMs: r.MaxDurationMs, RequireExpiry: r.RequireExpiry, Patterns: r.Patterns,
		Policy: policy{Stages: append([]authz.Stage{}, r.Stages...)},
	}
	for _, p := range r.Prompts {
		w.Prompts = append(w.Prompts, wirePrompt(p))
	}
	return authz.Marshal(w)
}

// wirePrompt keeps an empty list of options, which admits no answer, apart from
// none, which admits any.
type wirePrompt struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Kind     string   `json:"kind,omitempty"`
	Options  []string `json:"options,omitzero"`
	Required *bool    `json:"required,omitempty"`
}

// wireNavItem has its permission as a string or, for an any-of, an array.
type wireNavItem struct {
	Label      string        `json:"label"`
	Href       string        `json:"href,omitempty"`
	Permission any           `json:"permission"`
	Children   []wireNavItem `json:"children"`
}

func wireNavigation(items []NavItem) []wireNavItem {
	wire := make([]wireNavItem, len(items))
	for i, n := range items {
		wire[i] = wireNavItem{Label: n.Label, Href: n.Href, Permission: n.Permission, Children: wireNavigation(n.Children)}
		if n.AnyOf != nil {
			wire[i].Permission = n.AnyOf
		}
	}
	return wire
}
