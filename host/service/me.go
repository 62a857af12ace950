package service

import (
	"context"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// MeAnswer answers GET me (spec: hosted-api §8.2).
type MeAnswer struct {
	Org         string         `json:"org"`
	Caller      MeCaller       `json:"caller"`
	Seat        *SeatSummary   `json:"seat"`
	ViewAs      *client.ViewAs `json:"viewAs"`
	OrgRoot     RootStatus     `json:"orgRoot"`
	Permissions MePermissions  `json:"permissions"`
}

// MeCaller is who calls.
type MeCaller struct {
	Kind      CallerKind `json:"kind"`
	UserID    string     `json:"userId,omitempty"`
	ServiceID string     `json:"serviceId,omitempty"`
}

// MePermissions are keys with their scopes. Org is nil when the root cannot be
// asked.
type MePermissions struct {
	Org     []HeldKey `json:"org" nullable:"true"`
	Account []HeldKey `json:"account"`
}

// Me tells what the caller may do, narrowed by the preview in force.
func (s *Service) Me(ctx context.Context, a *Access) (MeAnswer, error) {
	me := MeAnswer{Org: a.Org.ID, ViewAs: a.ViewAs, Caller: MeCaller{a.Caller.Kind, a.Caller.UserID, a.Caller.ServiceID}}
	if a.Seat != nil {
		me.Seat = &SeatSummary{a.Seat.Kind, a.Seat.State}
	}
	var err error
	if me.Permissions.Account, err = a.Held(ctx); err != nil {
		return MeAnswer{}, err
	}
	if me.OrgRoot, err = s.Root.Status(ctx, a.Org.ID); err != nil {
		return MeAnswer{}, err
	}
	if !me.OrgRoot.Reachable {
		return me, nil
	}
	held, err := s.Root.Held(ctx, a.Org.ID, a.Caller.Principal(), a.ViewAs)
	switch {
	case err != nil:
		s.Logger.Warn("the org root cannot be asked for permissions", "org", a.Org.ID, "error", err)
		me.OrgRoot.Reachable = false
	case held == nil:
		me.Permissions.Org = []HeldKey{}
	default:
		me.Permissions.Org = held
	}
	return me, nil
}

// CheckViewAs is invalid_request unless a preview names either a role or a user;
// nil leaves one.
func CheckViewAs(view *client.ViewAs) error {
	var s shape
	switch {
	case view == nil:
	case view.Kind == client.ViewAsRole && view.RoleID != "" && view.UserID == "":
		s.text("viewAs.roleId", view.RoleID, maxRoleID)
	case view.Kind == client.ViewAsUser && view.UserID != "" && view.RoleID == "":
		s.text("viewAs.userId", view.UserID, maxUser)
	default:
		s.add("viewAs", `must be {"kind":"role","roleId"}, {"kind":"user","userId"} or null`)
	}
	return s.err()
}

// ViewAs starts a preview, or leaves it with nil, and answers me as it is then. A
// session keeps it, per org; for a key nothing is kept. Starting needs
// authz_internal.access.view_as of the actor; leaving is never gated.
func (s *Service) ViewAs(ctx context.Context, a *Access, view *client.ViewAs) (MeAnswer, error) {
	if err := CheckViewAs(view); err != nil {
		return MeAnswer{}, err
	}
	if view != nil {
		if err := a.RequireOrg(ctx, client.ViewAsKey, true); err != nil {
			return MeAnswer{}, err
		}
		if view.Kind == client.ViewAsRole {
			if err := s.roleExists(ctx, a.Org.ID, view.RoleID); err != nil {
				return MeAnswer{}, err
			}
		}
	}
	if err := s.keepView(ctx, a, view); err != nil {
		return MeAnswer{}, err
	}
	narrowed := *a
	narrowed.ViewAs, narrowed.judges = view, nil
	return s.Me(ctx, &narrowed)
}

func (s *Service) roleExists(ctx context.Context, org, id string) error {
	_, found, err := s.accountRole(ctx, org, id)
	if err != nil || found {
		return err
	}
	_, err = s.Root.Role(ctx, org, id)
	return err
}

func (s *Service) keepView(ctx context.Context, a *Access, view *client.ViewAs) error {
	return account.Retry(func() error {
		if applied, err := s.Accounts.Applied(ctx); err != nil || applied {
			return err
		}
		tx := s.Accounts.Begin(ctx)
		audit := func(was *client.ViewAs) {
			switch {
			case view != nil:
				tx.Audit(a.Org.ID, a.Caller.Actor(), "view_as.start", view.String(), nil)
			case was != nil:
				tx.Audit(a.Org.ID, a.Caller.Actor(), "view_as.end", was.String(), nil)
			}
		}
		if a.Caller.Kind != CallerSession {
			audit(nil)
			return tx.Commit()
		}
		row, found, err := account.Sessions.Get(ctx, s.Accounts, "", a.Caller.CredentialID)
		if err != nil {
			return err
		}
		if !found {
			return errSession()
		}
		var was *client.ViewAs
		views := map[string]client.ViewAs{}
		for org, v := range row.Value.Views {
			if org == a.Org.ID {
				was = &v
				continue
			}
			views[org] = v
		}
		if view == nil && was == nil {
			return nil
		}
		if view != nil {
			views[a.Org.ID] = *view
		}
		row.Value.Views = views
		account.Sessions.Put(tx, "", row.ID, row.Value, row.Version)
		audit(was)
		return tx.Commit()
	})
}

// EvaluateInput asks for a machine subject (spec: hosted-api §13).
type EvaluateInput struct {
	Principal *authz.Principal `json:"principal,omitempty"`
	Key       []string         `json:"key"`
	Scope     string           `json:"scope,omitempty"` // "" is *
	Fresh     bool             `json:"fresh,omitempty"`
}

const maxEvaluated = 50

// Check is invalid_request, or nil.
func (in EvaluateInput) Check() error {
	var s shape
	if len(in.Key) < 1 || len(in.Key) > maxEvaluated {
		s.add("key", "must hold 1 to 50 keys")
	}
	for _, key := range in.Key {
		if authz.ValidateKey(key) != nil {
			s.add("key", spell.Quote(key)+" is not a permission key")
		}
	}
	if in.Scope != "" && authz.ValidateScope(in.Scope) != nil {
		s.add("scope", fault.NoScope)
	}
	return s.err()
}

func errNotEvaluable(what, application string) error {
	e := fault.Cloud("not_evaluable_here", "%s is decided by its application; ask POST {base}/v1/check there", what)
	if application != "" {
		e.Message = what + " is decided by application " + spell.Quote(application) + "; ask its own POST {base}/v1/check"
		e.With("application", application)
	}
	return e
}
