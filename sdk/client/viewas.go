package client

import (
	"context"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// ViewAsKind says what a session previews.
type ViewAsKind string

// The kinds of preview.
const (
	ViewAsRole ViewAsKind = "role"
	ViewAsUser ViewAsKind = "user"
)

// ViewAs is the preview of a session: as a role, or as another user.
type ViewAs struct {
	Kind   ViewAsKind `json:"kind"`
	RoleID string     `json:"roleId,omitempty"`
	UserID string     `json:"userId,omitempty"`
}

// ViewAsKey is the permission that a preview needs at the global scope.
const ViewAsKey = "authz_internal.access.view_as"

// ParseViewAs reads the form that String writes, as from a cookie; nil for
// anything else.
func ParseViewAs(raw string) *ViewAs {
	kind, id, found := strings.Cut(raw, ":")
	if !found || id == "" {
		return nil
	}
	switch ViewAsKind(kind) {
	case ViewAsRole:
		return &ViewAs{Kind: ViewAsRole, RoleID: id}
	case ViewAsUser:
		return &ViewAs{Kind: ViewAsUser, UserID: id}
	}
	return nil
}

// String is "role:<roleId>" or "user:<userId>". Ids may hold anything: escape it,
// as url.QueryEscape does, before it goes into a cookie.
func (v ViewAs) String() string {
	if v.Kind == ViewAsRole {
		return string(ViewAsRole) + ":" + v.RoleID
	}
	return string(ViewAsUser) + ":" + v.UserID
}

func (v ViewAs) valid() bool {
	return v.Kind == ViewAsRole && v.RoleID != "" || v.Kind == ViewAsUser && v.UserID != ""
}

// AssertCanViewAs denies unless the user's own access holds ViewAsKey at the
// global scope. A catalog without that key denies; it is never an unknown key.
func (c *Client) AssertCanViewAs(ctx context.Context, actorUserID string) error {
	actor := authz.UserPrincipal(actorUserID)
	if err := actor.Validate(); err != nil {
		return err
	}
	if _, declared := c.vocabulary.Lookup(ViewAsKey); declared {
		if allowed, err := c.Can(ctx, actor, ViewAsKey, authz.Global); allowed || err != nil {
			return err
		}
	}
	return denied(actor, []string{ViewAsKey}, false, "", true)
}
