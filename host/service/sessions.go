package service

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/sdk/client"
)

// SessionView is a session in a list of the user's own.
type SessionView struct {
	account.Session
	Current bool `json:"current"`
}

// CurrentSession answers GET /auth/session: viewAs holds the previews in force, by
// org; nil without one. MayReadHost tells that it passes the gate Operator.
type CurrentSession struct {
	Session   SessionView              `json:"session"`
	CSRFToken string                   `json:"csrfToken"`
	ViewAs    map[string]client.ViewAs `json:"viewAs" nullable:"true"`

	MayReadHost bool `json:"mayReadHost"`
}

// CurrentSession is the caller's session.
func (s *Service) CurrentSession(ctx context.Context, caller Caller) (CurrentSession, error) {
	if err := s.AuthorizeSession(ctx, caller, false); err != nil {
		return CurrentSession{}, err
	}
	row, found, err := account.Sessions.Get(ctx, s.Accounts, "", caller.CredentialID)
	if err != nil {
		return CurrentSession{}, err
	}
	if !found {
		return CurrentSession{}, errSession()
	}
	operates, err := s.operates(ctx, caller)
	if err != nil {
		return CurrentSession{}, err
	}
	current := CurrentSession{Session: SessionView{row.Value.Session, true}, CSRFToken: s.csrfToken(row.ID), MayReadHost: operates}
	if len(row.Value.Views) > 0 {
		current.ViewAs = row.Value.Views
	}
	return current, nil
}

// Sessions lists the caller's live sessions, newest first.
func (s *Service) Sessions(ctx context.Context, caller Caller, p Page) (List[SessionView], error) {
	if err := s.AuthorizeSession(ctx, caller, false); err != nil {
		return List[SessionView]{}, err
	}
	var rows []SessionView
	for row, err := range account.Sessions.Under(ctx, s.Accounts, "", caller.UserID) {
		if err != nil {
			return List[SessionView]{}, err
		}
		if row.Value.Live(s.Clock()) {
			rows = append(rows, SessionView{row.Value.Session, row.ID == caller.CredentialID})
		}
	}
	return listed(rows, func(v SessionView) string { return newestFirst(v.CreatedAt, v.ID) }, p), nil
}

const farFuture = int64(1) << 53

// newestFirst is a position that sorts later instants before earlier ones.
func newestFirst(at int64, id string) string { return fmt.Sprintf("%016d-%s", farFuture-at, id) }

// oldestFirst is a position in the order (createdAt, id).
func oldestFirst(at int64, id string) string { return fmt.Sprintf("%016d-%s", at, id) }

// SignOut ends the caller's session. A preview does not keep it.
func (s *Service) SignOut(ctx context.Context, caller Caller) error {
	if err := s.AuthorizeSession(ctx, caller, false); err != nil {
		return err
	}
	_, err := s.endSession(ctx, caller, caller.CredentialID, "session.end")
	return err
}

// RevokeSession ends another of the caller's own sessions, or this one.
func (s *Service) RevokeSession(ctx context.Context, caller Caller, id string) error {
	if err := s.AuthorizeSession(ctx, caller, true); err != nil {
		return err
	}
	ended, err := s.endSession(ctx, caller, id, "session.revoke")
	if err == nil && !ended {
		err = fault.Cloud("session_not_found", "session not found")
	}
	return err
}

func (s *Service) endSession(ctx context.Context, caller Caller, id, action string) (ended bool, err error) {
	err = account.Retry(func() error {
		row, found, err := account.Sessions.Get(ctx, s.Accounts, "", id)
		ended = found && row.Value.UserID == caller.UserID && row.Value.Live(s.Clock())
		if err != nil || !ended {
			return err
		}
		tx := s.Accounts.Begin(ctx)
		account.Sessions.Delete(tx, "", id, row.Version)
		tx.Audit(row.Value.Org, caller.UserID, action, id, nil)
		return tx.Commit()
	})
	return ended, err
}

// endSessionsOf ends all sessions of a user, in one commit with what tx holds.
func (s *Service) endSessionsOf(ctx context.Context, tx *account.Tx, userID string) (n int, err error) {
	for row, err := range account.Sessions.Under(ctx, s.Accounts, "", userID) {
		if err != nil {
			return n, err
		}
		account.Sessions.Delete(tx, "", row.ID, row.Version)
		n++
	}
	return n, nil
}

func (s *Service) csrfToken(sessionID string) string {
	return base64.RawURLEncoding.EncodeToString(s.Keys.MAC(secret.PurposeCSRF, []byte(sessionID)))
}

// ValidCSRF compares a session's X-Authz-Csrf in constant time.
func (s *Service) ValidCSRF(sessionID, token string) bool {
	mac, err := base64.RawURLEncoding.DecodeString(token)
	return err == nil && s.Keys.Verify(secret.PurposeCSRF, mac, []byte(sessionID))
}
