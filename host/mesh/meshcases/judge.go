package meshcases

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// must ends the case at an error.
func (w *world) must(err error, what string) {
	if err != nil {
		w.Want(what, "%v", err)
	}
}

// only drops the answer of a write.
func only[T any](_ T, err error) error { return err }

// refused wants a MeshError of a code and answers it.
func (w *world) refused(err error, code authz.MeshCode) *authz.MeshError {
	var e *authz.MeshError
	if !errors.As(err, &e) || e.Code != code {
		w.Want("MeshError "+string(code), "%v", err)
	}
	return e
}

// rejected wants a write refused with one of the codes.
func (w *world) rejected(err error, codes ...authz.Code) {
	for _, code := range codes {
		if err != nil && authz.CodeOf(err) == code {
			return
		}
	}
	w.Want(fmt.Sprintf("a write refused with %v", codes), "%v", err)
}

// found wants findings with exactly these codes, in their order.
func (w *world) found(err error, codes ...authz.MeshCode) []authz.MeshFinding {
	e := w.refused(err, authz.MeshVerifyFailed)
	all := make([]authz.MeshCode, len(e.Findings))
	for i, f := range e.Findings {
		all[i] = f.Code
	}
	w.same("the findings", codes, all)
	return e.Findings
}

// same compares by value; lists nil or empty are alike.
func (w *world) same(what string, want, got any) {
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(authz.Expiry{})); diff != "" {
		w.Want(fmt.Sprintf("%s: %+v", what, want), "%+v\ndifference (-expected +got):\n%s", got, diff)
	}
}

// answers wants a check to answer so.
func (m *member) answers(want bool, user, key, scope string) {
	allowed, err := m.client.Can(m.w.ctx, authz.UserPrincipal(user), key, scope)
	m.w.Step("%s: can(%s, %s, %s) → %v, %v", m.name, user, key, scope, allowed, err)
	if err != nil || allowed != want {
		m.w.Want(fmt.Sprintf("%s answers %v to can(%s, %s, %s)", m.name, want, user, key, scope), "%v, %v", allowed, err)
	}
}

func (m *member) allows(user, key string) { m.answers(true, user, key, authz.Global) }
func (m *member) denies(user, key string) { m.answers(false, user, key, authz.Global) }

// fails wants a check to answer neither way, and is its error.
func (m *member) fails(user, key string) error {
	allowed, err := m.client.Can(m.w.ctx, authz.UserPrincipal(user), key, authz.Global)
	m.w.Step("%s: can(%s, %s) → %v, %v", m.name, user, key, allowed, err)
	if err == nil {
		m.w.Want("a check that fails", "%v", allowed)
	}
	return err
}

// grants writes grants at a member: of subjects, patterns or role:<id>, and scopes.
func (m *member) grants(subject, what, scope string) authz.Grant {
	in := provider.GrantInput{Subject: subject, Pattern: what, Scope: scope}
	if role, ok := strings.CutPrefix(what, "role:"); ok {
		in.Pattern, in.RoleID = "", role
	}
	g, err := m.CreateGrant(m.w.ctx, in, admin)
	m.w.Step("%s: grant %s to %s at %s → %s, %v", m.name, what, subject, scope, g.ID, err)
	m.w.must(err, "a grant")
	return g
}

func (m *member) revokes(user, pattern string) {
	_, err := m.CreateRevoke(m.w.ctx, provider.RevokeInput{UserID: user, Pattern: pattern, Scope: authz.Global}, admin)
	m.w.Step("%s: revoke %s of %s → %v", m.name, pattern, user, err)
	m.w.must(err, "a revoke")
}

func (m *member) role(id string, patterns ...string) {
	m.w.must(only(m.CreateRole(m.w.ctx, provider.RoleInput{ID: &id, Name: id, Patterns: patterns}, admin)), "a role")
}

// narrows replaces the patterns of a role.
func (m *member) narrows(id string, patterns ...string) {
	m.w.must(only(m.UpdateRole(m.w.ctx, id, provider.RoleUpdate{Patterns: &patterns}, admin)), "a role changed")
}

func (m *member) group(id string, people ...string) {
	m.w.must(only(m.CreateGroup(m.w.ctx, provider.GroupInput{ID: &id, Name: id}, admin)), "a group")
	for _, user := range people {
		m.w.must(m.SetGroupMembership(m.w.ctx, user, []string{id}, admin), "a membership")
	}
}

// put replaces the registry.
func (w *world) put(c *mesh.Connection, in mesh.Put) authz.Mesh {
	m, err := c.PutRegistry(w.ctx, in, admin)
	w.Step("put the registry: %+v %+v → version %d, %v", in.Members, in.Edges, m.Version, err)
	w.must(err, "a registry")
	return m
}

func of(partition string, namespaces ...string) authz.MeshMember {
	return authz.MeshMember{Partition: partition, Namespaces: namespaces}
}

func edge(from, to string, mode authz.MeshMode) authz.MeshEdge {
	return authz.MeshEdge{From: from, To: to, Mode: mode}
}

// peer opens a peer on behalf of somebody.
func (w *world) peer(c *mesh.Connection, to string, mode authz.MeshMode) *mesh.Peer {
	p, err := c.OpenPeer(w.ctx, to, mesh.PeerOptions{As: "m.reyes", Mode: mode})
	w.Step("%s opens %s to %s → %v", c.Partition(), to, mode, err)
	w.must(err, "a peer")
	return p
}

// rows collects a list.
func rows[T any](w *world, list iter.Seq2[T, error]) (all []T) {
	for row, err := range list {
		w.must(err, "a list without an error")
		all = append(all, row)
	}
	return all
}

// contents is everything of a partition that a write could change.
type contents struct {
	Org     provider.OrgSnapshot
	Grants  []authz.Grant
	Revokes []authz.Revoke
	Audit   []authz.AuditEntry
	Head    int64
}

func (w *world) contents(partition string) (c contents) {
	s := w.raw(partition)
	var err error
	c.Org, err = application.ReadOrg(w.ctx, s)
	w.must(err, "the organization of "+partition)
	c.Grants = rows(w, s.ListGrants(w.ctx, storage.GrantFilter{}, storage.Page{}))
	c.Revokes = rows(w, s.ListRevokes(w.ctx, storage.RevokeFilter{}, storage.Page{}))
	c.Audit = w.audit(partition)
	c.Head = w.head(partition)
	return c
}

func (w *world) audit(partition string) []authz.AuditEntry {
	return rows(w, w.raw(partition).ListAudit(w.ctx, storage.AuditFilter{}))
}

func (w *world) head(partition string) int64 {
	head, err := w.raw(partition).Head(w.ctx)
	w.must(err, "the head of "+partition)
	return head.Seq
}

// entry is the only audit entry of an action in a partition.
func (w *world) entry(partition, action string) authz.AuditEntry {
	var all []authz.AuditEntry
	for _, e := range w.audit(partition) {
		if e.Action == action {
			all = append(all, e)
		}
	}
	if len(all) != 1 {
		w.Want(fmt.Sprintf("one audit entry %s in %s", action, partition), "%d: %+v", len(all), all)
	}
	return all[0]
}

func ptr[T any](v T) *T { return &v }
