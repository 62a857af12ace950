package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// accessFile declares access: what it names is to be as it says, what it does not
// name is left alone.
type accessFile struct {
	// Name ties what is made to the file: --prune deletes what was made under the
	// same name and is no longer declared.
	Name   string       `json:"name"`
	Roles  []roleEntry  `json:"roles"`
	Groups []groupEntry `json:"groups"`
	Grants []grantEntry `json:"grants"`
}

type roleEntry struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Patterns    []string           `json:"patterns"`
	Requestable *authz.Requestable `json:"requestable"`
}

type groupEntry struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Parents     []string `json:"parents"`
}

// provenance marks what an apply of this file writes.
func (f *accessFile) provenance() authz.Provenance {
	return authz.Provenance{Kind: authz.ProvenanceReconciler, IntegrationID: "apply:" + f.Name}
}

// readAccess reads a declaration and fills what it may leave out. The error names
// everything that is wrong in it.
func readAccess(in io.Reader, file string) (*accessFile, error) {
	f := &accessFile{}
	if err := readInto(in, file, f); err != nil {
		return nil, err
	}
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if f.Name == "" || strings.TrimSpace(f.Name) != f.Name {
		bad("name: give the file a name, which says later what it made")
	}
	f.checkRoles(bad)
	f.checkGroups(bad)
	f.checkGrants(bad)
	if len(wrong) > 0 {
		return nil, usageError{errors.New(shown(file) + ":\n  " + strings.Join(wrong, "\n  "))}
	}
	return f, nil
}

func (f *accessFile) checkRoles(bad func(string, ...any)) {
	seen := map[string]bool{}
	for i := range f.Roles {
		r := &f.Roles[i]
		if r.ID == "" || seen[r.ID] {
			bad("roles[%d]: %s", i, needsID(r.ID))
		}
		seen[r.ID] = true
		if r.Name == "" {
			r.Name = r.ID
		}
		for _, p := range r.Patterns {
			if invalid := authz.ValidatePattern(p); invalid != nil {
				bad("roles[%d]: pattern %s: %s", i, authz.Quote(p), invalid.Reason)
			}
		}
	}
}

func needsID(id string) string {
	if id == "" {
		return "id is missing"
	}
	return "id " + authz.Quote(id) + " is declared twice"
}

func (f *accessFile) checkGroups(bad func(string, ...any)) {
	seen := map[string]bool{}
	for i := range f.Groups {
		g := &f.Groups[i]
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
}

func (f *accessFile) checkGrants(bad func(string, ...any)) {
	seen := map[grantKey]int{}
	for i := range f.Grants {
		g := &f.Grants[i]
		if g.Scope == "" {
			g.Scope = authz.Global
		}
		if wrong := wrongSubject(g.Subject); wrong != nil {
			bad("grants[%d]: subject %v", i, wrong)
		}
		if (g.Role == "") == (g.Pattern == "") {
			bad("grants[%d]: give exactly one of role and pattern", i)
		}
		if g.Pattern != "" {
			if invalid := authz.ValidatePattern(g.Pattern); invalid != nil {
				bad("grants[%d]: pattern %s: %s", i, authz.Quote(g.Pattern), invalid.Reason)
			}
		}
		if wrong := wrongScope(g.Scope); wrong != nil {
			bad("grants[%d]: scope %v", i, wrong)
		}
		if first, repeated := seen[g.key()]; repeated {
			bad("grants[%d]: says the same as grants[%d]", i, first)
		} else {
			seen[g.key()] = i
		}
	}
}

// grantKey is what a grant gives to whom and where: a declared one is the same as a
// stored one by it.
type grantKey struct{ subject, role, pattern, scope string }

func (g grantEntry) key() grantKey { return grantKey{g.Subject, g.Role, g.Pattern, g.Scope} }

// home separates at least the grants that the hosted API keeps apart: those of each
// application, of the account and of the org.
func (g grantEntry) home() string {
	named := authz.ScopeType(g.Scope)
	if named == "" {
		named = g.Pattern
	}
	namespace, _, _ := strings.Cut(named, ".")
	return namespace
}

func keyOf(g authz.Grant) grantKey { return grantKey{g.Subject, g.RoleID, g.Pattern, g.Scope} }

func (k grantKey) String() string {
	return k.subject + " " + gives(k.role, k.pattern) + " at " + k.scope
}
