package conformance

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func grantID(g authz.Grant) string { return g.ID }

func (s *named) grantIDs(f storage.GrantFilter) []string {
	return ids(rows(s.w, s.ListGrants(s.w.ctx, f, storage.Page{})), grantID)
}

// grant is a plausible row; set changes what a case is about.
func grant(id, subject string, set ...func(*authz.Grant)) authz.Grant {
	g := authz.Grant{ID: id, Subject: subject, Pattern: "docs.read", Scope: "*",
		Provenance: authz.AdminProvenance("root"), CreatedAt: 1}
	for _, f := range set {
		f(&g)
	}
	return g
}

func ofRole(role string) func(*authz.Grant) {
	return func(g *authz.Grant) { g.RoleID, g.Pattern = role, "" }
}

func at(scope string) func(*authz.Grant) { return func(g *authz.Grant) { g.Scope = scope } }

func revoke(id, user, scope string) authz.Revoke {
	return authz.Revoke{ID: id, UserID: user, Pattern: "docs.read", Scope: scope,
		Provenance: authz.AdminProvenance("root"), CreatedAt: 1}
}

func request(id string, createdAt int64) authz.Request {
	return authz.Request{ID: id, RequesterUserID: "u1", RoleID: "r1", Scope: "*", State: authz.RequestPending,
		Justification: map[string]string{}, Stages: []authz.Stage{{Kind: authz.StageAuto}}, CreatedAt: createdAt}
}

func entry(id string, instant int64) authz.AuditEntry {
	return authz.AuditEntry{ID: id, At: instant, Actor: "root", Action: "grant.create", Target: "t1"}
}

func insertGrants(list ...authz.Grant) []storage.Change {
	out := make([]storage.Change, len(list))
	for i, g := range list {
		out[i] = storage.InsertGrant{Grant: g}
	}
	return out
}

func (s *named) access(q storage.AccessQuery) storage.Access {
	a, err := s.ReadAccess(s.w.ctx, q)
	if err != nil {
		s.w.Want("readAccess answers", "%v", err)
	}
	return a
}

// events returns the events when the driver keeps any, else none.
func (w *world) events(list ...authz.Event) []authz.Event {
	if w.has(storage.CapEvents) {
		return list
	}
	return nil
}

func (s *named) head() int64 {
	return s.headAt().Seq
}

// headAt is the head with its identity.
func (s *named) headAt() authz.Position {
	head, err := s.Head(s.w.ctx)
	if err != nil {
		s.w.Want("head answers", "%v", err)
	}
	return head
}
