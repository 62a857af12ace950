package vectors

import (
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// World is the state that many files describe: a catalog, rows as they lie in
// storage, and the parents of scopes.
type World struct {
	Now          int64               `json:"now"`
	Catalog      json.RawMessage     `json:"catalog"`
	Roles        []authz.Role        `json:"roles"`
	Groups       []authz.Group       `json:"groups"`
	Users        []WorldUser         `json:"users"`
	Grants       []authz.Grant       `json:"grants"`
	Revokes      []authz.Revoke      `json:"revokes"`
	ScopeParents map[string][]string `json:"scopeParents"`
}

// WorldUser is a user record whose active flag defaults to true.
type WorldUser struct {
	UserID        string   `json:"userId"`
	Active        *bool    `json:"active"`
	GroupIDs      []string `json:"groupIds"`
	OrgIDs        []string `json:"orgIds"`
	ManagerUserID string   `json:"managerUserId"`
}

// Commit writes the rows straight into storage, past all validation.
func (w World) Commit() storage.Commit {
	c := storage.Commit{ID: "world", At: w.Now}
	system := authz.Provenance{Kind: authz.ProvenanceSystem}
	for _, r := range w.Roles {
		c.Changes = append(c.Changes, storage.UpsertRole{Role: r})
	}
	for _, g := range w.Groups {
		c.Changes = append(c.Changes, storage.UpsertGroup{Group: g})
	}
	for _, u := range w.Users {
		c.Changes = append(c.Changes, storage.UpsertUser{User: authz.User{UserID: u.UserID, Active: u.Active == nil || *u.Active,
			GroupIDs: u.GroupIDs, OrgIDs: u.OrgIDs, ManagerUserID: u.ManagerUserID}})
	}
	for _, g := range w.Grants {
		g.Provenance, g.CreatedAt = system, w.Now
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: g})
	}
	for _, r := range w.Revokes {
		r.Provenance, r.CreatedAt = system, w.Now
		c.Changes = append(c.Changes, storage.InsertRevoke{Revoke: r})
	}
	return c
}

// Ancestors resolves a scope as the files' README says: breadth-first, all
// parents in list order, then theirs, no duplicates, "*" last.
func (w World) Ancestors(scope string) []string {
	chain := []string{}
	seen := map[string]bool{scope: true}
	for at, i := scope, 0; ; i++ {
		for _, p := range w.ScopeParents[at] {
			if !seen[p] {
				seen[p] = true
				chain = append(chain, p)
			}
		}
		if i == len(chain) {
			return append(chain, authz.Global)
		}
		at = chain[i]
	}
}
