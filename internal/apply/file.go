package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// File declares access: what it names is to be as it says, what it does not
// name is left alone.
type File struct {
	// Name ties what is made to the file: --prune deletes what was made under the
	// same name and is no longer declared.
	Name   string  `json:"name"`
	Roles  []Role  `json:"roles"`
	Groups []Group `json:"groups"`
	Grants []Grant `json:"grants"`
}

// Role is a role as files declare it.
type Role struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Patterns    []string           `json:"patterns"`
	Requestable *authz.Requestable `json:"requestable"`
}

// Group is a group as files declare it.
type Group struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Parents     []string `json:"parents"`
}

// Grant is a grant as files declare it.
type Grant struct {
	Subject string `json:"subject"`
	Role    string `json:"role"`
	Pattern string `json:"pattern"`
	Scope   string `json:"scope"`
	Expires Expiry `json:"expires"`
}

// Input is what makes the grant.
func (g Grant) Input() provider.GrantInput {
	return provider.GrantInput{Subject: g.Subject, RoleID: g.Role, Pattern: g.Pattern, Scope: g.Scope, ExpiresAt: g.Expires.Expiry}
}

// Expiry is an instant in a file: a date or time as text, or epoch milliseconds.
// Times from now are refused: a file must mean the same tomorrow.
type Expiry struct{ authz.Expiry }

// UnmarshalText reads a date or time.
func (e *Expiry) UnmarshalText(text []byte) error {
	ms, err := words.ParseInstant(string(text))
	e.Expiry = authz.ExpiresAt(ms)
	return err
}

// UnmarshalJSON reads either form.
func (e *Expiry) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		return e.UnmarshalText([]byte(text))
	}
	var ms int64
	if err := json.Unmarshal(b, &ms); err != nil {
		return fmt.Errorf("%s is no instant: write 2027-01-31 or 2027-01-31T17:00:00Z", b)
	}
	e.Expiry = authz.ExpiresAt(ms)
	return nil
}

// Provenance marks what an apply of this file writes.
func (f *File) Provenance() authz.Provenance {
	return authz.Provenance{Kind: authz.ProvenanceReconciler, IntegrationID: "apply:" + f.Name}
}

// Complete fills what the file may leave out, and says everything that is wrong in
// it.
func (f *File) Complete() (wrong []string) {
	if f.Name == "" || strings.TrimSpace(f.Name) != f.Name {
		wrong = append(wrong, "name: give the file a name, which says later what it made")
	}
	wrong = append(wrong, completeRoles(f.Roles)...)
	wrong = append(wrong, completeGroups(f.Groups)...)
	return append(wrong, CompleteGrants(f.Grants)...)
}

func completeRoles(roles []Role) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for i := range roles {
		r := &roles[i]
		if r.ID == "" || seen[r.ID] {
			bad("roles[%d]: %s", i, needsID(r.ID))
		}
		seen[r.ID] = true
		if r.Name == "" {
			r.Name = r.ID
		}
		for _, p := range r.Patterns {
			if invalid := authz.ValidatePattern(p); invalid != nil {
				bad("roles[%d]: pattern %s: %s", i, spell.Quote(p), invalid.Reason)
			}
		}
	}
	return wrong
}

func needsID(id string) string {
	if id == "" {
		return "id is missing"
	}
	return "id " + spell.Quote(id) + " is declared twice"
}

func completeGroups(groups []Group) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for i := range groups {
		g := &groups[i]
		if g.ID == "" || seen[g.ID] {
			bad("groups[%d]: %s", i, needsID(g.ID))
		}
		seen[g.ID] = true
		if g.Name == "" {
			g.Name = g.ID
		}
		var parents []string
		for _, p := range g.Parents {
			if !slices.Contains(parents, p) {
				parents = append(parents, p)
			}
		}
		g.Parents = parents
	}
	return wrong
}

// CompleteGrants is Complete for grants that stand alone.
func CompleteGrants(grants []Grant) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	seen := map[key]int{}
	for i := range grants {
		g := &grants[i]
		if g.Scope == "" {
			g.Scope = authz.Global
		}
		if wrong := words.CheckSubject(g.Subject); wrong != nil {
			bad("grants[%d]: subject %v", i, wrong)
		}
		if (g.Role == "") == (g.Pattern == "") {
			bad("grants[%d]: give exactly one of role and pattern", i)
		}
		if g.Pattern != "" {
			if invalid := authz.ValidatePattern(g.Pattern); invalid != nil {
				bad("grants[%d]: pattern %s: %s", i, spell.Quote(g.Pattern), invalid.Reason)
			}
		}
		if wrong := words.CheckScope(g.Scope); wrong != nil {
			bad("grants[%d]: scope %v", i, wrong)
		}
		if first, repeated := seen[g.key()]; repeated {
			bad("grants[%d]: says the same as grants[%d]", i, first)
		} else {
			seen[g.key()] = i
		}
	}
	return wrong
}

// key is what a grant gives to whom and where: a declared one is the same as a
// stored one by it.
type key struct{ subject, role, pattern, scope string }

func (g Grant) key() key { return key{g.Subject, g.Role, g.Pattern, g.Scope} }

// home separates at least the grants that the hosted API keeps apart: those of each
// application, of the account and of the org.
func (g Grant) home() string {
	named := authz.ScopeType(g.Scope)
	if named == "" {
		named = g.Pattern
	}
	namespace, _, _ := strings.Cut(named, ".")
	return namespace
}

func keyOf(g authz.Grant) key { return key{g.Subject, g.RoleID, g.Pattern, g.Scope} }

func (k key) String() string {
	return k.subject + " " + words.Gives(k.role, k.pattern) + " at " + k.scope
}
