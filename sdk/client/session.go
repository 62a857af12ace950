package client

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// Session asks for one user, perhaps while previewing a role or another user.
// Every answer is actor AND preview: a preview can only narrow. The actor is
// judged first, and named by every denial.
type Session struct {
	client *Client
	actor  authz.Principal
	viewAs *ViewAs
}

// Session opens a session. A preview (viewAs not nil) needs the actor's own
// ViewAsKey, else it is an *authz.AccessDeniedError; leaving one always works.
func (c *Client) Session(ctx context.Context, actorUserID string, viewAs *ViewAs) (*Session, error) {
	s := &Session{client: c, actor: authz.UserPrincipal(actorUserID)}
	if err := s.actor.Validate(); err != nil {
		return nil, err
	}
	if viewAs == nil {
		return s, nil
	}
	if !viewAs.valid() {
		return nil, fmt.Errorf("client: a preview names either a role or a user: %+v", *viewAs)
	}
	if err := c.AssertCanViewAs(ctx, actorUserID); err != nil {
		return nil, err
	}
	preview := *viewAs
	s.viewAs = &preview
	return s, nil
}

// Actor is who acts; audit and denials name them.
func (s *Session) Actor() authz.Principal { return s.actor }

// SubjectUserID is whose data to show: the previewed user's id in a user preview,
// else the actor's.
func (s *Session) SubjectUserID() string {
	if s.viewAs != nil && s.viewAs.Kind == ViewAsUser {
		return s.viewAs.UserID
	}
	return s.actor.UserID
}

// Can is the client's Can for the session.
func (s *Session) Can(ctx context.Context, key, scope string) (bool, error) {
	return s.gate(ctx, Gate{Keys: []string{key}, Scope: scope}, metrics.ShapeCan)
}

// CanFresh is Can past the caches, on both identities.
func (s *Session) CanFresh(ctx context.Context, key, scope string) (bool, error) {
	return s.gate(ctx, Gate{Keys: []string{key}, Scope: scope, Fresh: true}, metrics.ShapeCan)
}

// Fresh is CanFresh.
//
// Deprecated: use CanFresh.
func (s *Session) Fresh(ctx context.Context, key, scope string) (bool, error) {
	return s.CanFresh(ctx, key, scope)
}

// Check asks a Gate. Its condition runs on the actor's side only.
func (s *Session) Check(ctx context.Context, g Gate) (bool, error) {
	return s.gate(ctx, g, metrics.ShapeCan)
}

// Require is Can whose denial is an *authz.AccessDeniedError.
func (s *Session) Require(ctx context.Context, key, scope string) error {
	return s.RequireGate(ctx, Gate{Keys: []string{key}, Scope: scope})
}

// RequireGate is Check whose denial is an *authz.AccessDeniedError.
func (s *Session) RequireGate(ctx context.Context, g Gate) error {
	allowed, err := s.gate(ctx, g, metrics.ShapeRequire)
	if err != nil || allowed {
		return err
	}
	return s.client.denied(s.actor, g.Keys, len(g.Keys) != 1, g.Scope, true)
}

func (s *Session) gate(ctx context.Context, g Gate, shape metrics.Shape) (bool, error) {
	allowed, _, err := s.client.gate(ctx, s.actor, g, shape)
	if err != nil || !allowed || s.viewAs == nil {
		return allowed, err
	}
	v, err := s.client.verifyGate(g, shape, "")
	if err != nil {
		return false, err
	}
	if s.viewAs.Kind == ViewAsUser {
		r, err := s.client.rows(ctx, authz.UserPrincipal(s.viewAs.UserID), g, v)
		return r.rows && err == nil, err
	}
	role, err := s.client.previewRole(ctx, s.viewAs.RoleID)
	return err == nil && role.rows(g, v), err
}

// CanAny is the client's CanAny for the session.
func (s *Session) CanAny(ctx context.Context, pattern string) (bool, error) {
	return s.canAny(ctx, pattern, metrics.ShapeCanAny)
}

// RequireAny is CanAny whose denial is an *authz.AccessDeniedError.
func (s *Session) RequireAny(ctx context.Context, pattern string) error {
	visible, err := s.canAny(ctx, pattern, metrics.ShapeRequireAny)
	if err != nil || visible {
		return err
	}
	return denied(s.actor, []string{pattern}, false, "", true)
}

func (s *Session) canAny(ctx context.Context, pattern string, shape metrics.Shape) (bool, error) {
	visible, err := s.client.canAny(ctx, s.actor, pattern, shape)
	if err != nil || !visible || s.viewAs == nil {
		return visible, err
	}
	if s.viewAs.Kind == ViewAsUser {
		return s.client.Unobserved().canAny(ctx, authz.UserPrincipal(s.viewAs.UserID), pattern, shape)
	}
	role, err := s.client.previewRole(ctx, s.viewAs.RoleID)
	if err != nil {
		return false, err
	}
	return role.canAny(pattern)
}

// rolePreview is a role's patterns as the rows of a synthetic subject at the
// global scope: no revokes, no expiry, no chain needed.
type rolePreview struct {
	vocabulary *compiled.Vocabulary
	access     *compiled.Access
	now        int64
}

// previewSubject holds the rows of a role preview.
const previewSubject = "preview"

// previewRole reads the role as it is now; one that does not exist denies all.
func (c *Client) previewRole(ctx context.Context, roleID string) (*rolePreview, error) {
	rows := &authz.SubjectAccess{Closure: []string{previewSubject}, Active: true}
	for role, err := range c.source.ListRoles(ctx, provider.Paging{}) {
		if err != nil {
			return nil, err
		}
		if role.ID == roleID {
			for _, pattern := range role.Patterns {
				rows.Grants = append(rows.Grants, authz.Grant{Subject: previewSubject, Pattern: pattern, Scope: authz.Global})
			}
		}
		if role.ID >= roleID {
			break
		}
	}
	now := c.clock()
	return &rolePreview{c.vocabulary, compiled.Compile(c.vocabulary, rows, now), now}, nil
}

func (r *rolePreview) rows(g Gate, v verified) bool {
	for i, k := range v.keys {
		if v.declared[i] {
			if allowed, _ := r.access.Decide(k, compiled.GlobalChain); allowed {
				return true
			}
		} else if r.access.DecideUndeclared(g.Keys[i], compiled.GlobalChain, r.now) {
			return true
		}
	}
	return false
}

func (r *rolePreview) canAny(pattern string) (bool, error) {
	return r.access.Visible(pattern, r.now, func(string) (*compiled.Chain, error) { return compiled.GlobalChain, nil })
}

func (r *rolePreview) holds(key string, k compiled.Key, declared bool) bool {
	if !declared {
		return r.access.HoldsUndeclared(key, r.now)
	}
	return r.access.HeldAnywhere(k)
}
