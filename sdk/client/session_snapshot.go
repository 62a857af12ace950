package client

import (
	"context"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// SessionSnapshot answers for a session at one instant without I/O: one snapshot
// for each identity. Every answer is actor AND preview.
type SessionSnapshot struct {
	session *Session
	actor   *Snapshot
	user    *Snapshot    // of a user preview
	role    *rolePreview // of a role preview

	held struct {
		once sync.Once
		keys []string
	}
}

// Snapshot takes one snapshot for each identity with the same options.
func (s *Session) Snapshot(ctx context.Context, o SnapshotOptions) (*SessionSnapshot, error) {
	out := &SessionSnapshot{session: s}
	var err error
	if out.actor, err = s.client.Snapshot(ctx, s.actor, o); err != nil || s.viewAs == nil {
		return out.orNil(err)
	}
	if s.viewAs.Kind == ViewAsUser {
		out.user, err = s.client.Unobserved().Snapshot(ctx, authz.UserPrincipal(s.viewAs.UserID), o)
	} else {
		out.role, err = s.client.previewRole(ctx, s.viewAs.RoleID)
	}
	return out.orNil(err)
}

func (s *SessionSnapshot) orNil(err error) (*SessionSnapshot, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Actor is who acts; denials name them.
func (s *SessionSnapshot) Actor() authz.Principal { return s.session.actor }

// SubjectUserID is whose data to show.
func (s *SessionSnapshot) SubjectUserID() string { return s.session.SubjectUserID() }

// At is the actor's instant.
func (s *SessionSnapshot) At() int64 { return s.actor.At() }

// Resolve makes further scopes checkable on both identities.
func (s *SessionSnapshot) Resolve(ctx context.Context, scopes ...string) error {
	if err := s.actor.Resolve(ctx, scopes...); err != nil || s.user == nil {
		return err
	}
	return s.user.Resolve(ctx, scopes...)
}

// Can is the session's Can on the snapshot.
func (s *SessionSnapshot) Can(key, scope string) (bool, error) {
	return s.gate(Gate{Keys: []string{key}, Scope: scope}, metrics.ShapeCan)
}

// Check asks a Gate; see Snapshot.Check. Its condition runs on the actor's side.
func (s *SessionSnapshot) Check(g Gate) (bool, error) { return s.gate(g, metrics.ShapeCan) }

// Require is Can whose denial is an *authz.AccessDeniedError.
func (s *SessionSnapshot) Require(key, scope string) error {
	return s.RequireGate(Gate{Keys: []string{key}, Scope: scope})
}

// RequireGate is Check whose denial is an *authz.AccessDeniedError.
func (s *SessionSnapshot) RequireGate(g Gate) error {
	allowed, err := s.gate(g, metrics.ShapeRequire)
	if err != nil || allowed {
		return err
	}
	e := denied(s.session.actor, g.Keys, len(g.Keys) != 1, g.Scope, true)
	e.Expired = s.actor.expired(g.Keys, g.Scope)
	return e
}

func (s *SessionSnapshot) gate(g Gate, shape metrics.Shape) (bool, error) {
	allowed, err := s.actor.gate(g, shape)
	if err != nil || !allowed || s.user == nil && s.role == nil {
		return allowed, err
	}
	v, err := s.session.client.verifyGate(g, shape, onSnapshot)
	if err != nil {
		return false, err
	}
	if s.role != nil {
		return s.role.rows(g, v), nil
	}
	r, err := s.user.rows(g, v)
	return r.rows && err == nil, err
}

// CanAny is the session's CanAny on the snapshot.
func (s *SessionSnapshot) CanAny(pattern string) (bool, error) {
	return s.canAny(pattern, metrics.ShapeCanAny)
}

// RequireAny is CanAny whose denial is an *authz.AccessDeniedError.
func (s *SessionSnapshot) RequireAny(pattern string) error {
	visible, err := s.canAny(pattern, metrics.ShapeRequireAny)
	if err != nil || visible {
		return err
	}
	return denied(s.session.actor, []string{pattern}, false, "", true)
}

func (s *SessionSnapshot) canAny(pattern string, shape metrics.Shape) (bool, error) {
	visible, err := s.actor.canAny(pattern, shape)
	switch {
	case err != nil || !visible:
		return false, err
	case s.user != nil:
		return s.user.canAny(pattern, shape)
	case s.role != nil:
		return s.role.canAny(pattern)
	}
	return true, nil
}

// Holds asks whether both identities hold the key at some scope. It is never a
// gate.
func (s *SessionSnapshot) Holds(key string) (bool, error) {
	k, declared, err := s.session.client.verify(key, string(metrics.ShapeHolds))
	if err != nil {
		return false, err
	}
	held, err := s.actor.Holds(key)
	switch {
	case err != nil || !held:
		return false, err
	case s.user != nil:
		return s.user.Holds(key)
	case s.role != nil:
		return s.role.holds(key, k, declared), nil
	}
	return true, nil
}

// HeldKeys lists the keys that both identities hold somewhere, in catalog order,
// computed once. The list is the caller's own.
func (s *SessionSnapshot) HeldKeys() []string {
	s.held.once.Do(func() {
		s.held.keys = s.actor.HeldKeys()
		var preview []string
		switch {
		case s.user != nil:
			preview = s.user.HeldKeys()
		case s.role != nil:
			preview = s.role.access.HeldKeys()
		default:
			return
		}
		s.held.keys = slices.DeleteFunc(s.held.keys, func(key string) bool {
			_, found := slices.BinarySearch(preview, key) // catalog order is byte order
			return !found
		})
	})
	return slices.Clone(s.held.keys)
}
