package service

import (
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
)

// How a user proved who they are, in session.authMethod.
const (
	MethodBootstrap = "bootstrap"
	MethodOIDC      = "oidc"
)

// DefaultRefusalTime is the least time that a failed proof takes, whatever failed.
const DefaultRefusalTime = 300 * time.Millisecond

// MaxSessions is how many live sessions a user has; the oldest gives way.
const MaxSessions = 20

// Proved is a user whose proof was good.
type Proved struct {
	Org     string // "" asks for a session of no org
	UserID  string
	Method  string
	Address string
	Agent   string
	Cookie  string // of the session that came with the request, which ends
}

// SignedIn answers a sign-in. Token is the cookie's value, told once.
type SignedIn struct {
	Session   account.Session `json:"session"`
	Seat      *account.Seat   `json:"seat"`
	CSRFToken string          `json:"csrfToken"`
	Token     string          `json:"-"`
}

// SignIn opens a session for a proved user in an org where they have a seat; an
// invited one becomes active. Without a seat, or with an unknown org, the answer is
// seat_required. Without an org it needs one who may create orgs.
func (s *Service) SignIn(ctx context.Context, p Proved) (SignedIn, error) {
	var in SignedIn
	err := s.Accounts.Exclusive(ctx, sessionsSection(p.UserID), func(ctx context.Context) error {
		return account.Retry(func() (err error) {
			in, err = s.signIn(ctx, p)
			return err
		})
	})
	return in, err
}

// sessionsSection is where a user's sessions are counted. Its name is bounded,
// which ids of users that providers make are not.
func sessionsSection(userID string) string {
	return "sessions:" + hex.EncodeToString(secret.Hash(userID)[:16])
}

func (s *Service) signIn(ctx context.Context, p Proved) (SignedIn, error) {
	if p.Org == "" {
		if err := s.mayEnterNowhere(ctx, p); err != nil {
			return SignedIn{}, err
		}
		return s.openSession(ctx, p, nil)
	}
	if !account.ValidOrgID(p.Org) {
		return SignedIn{}, s.refuseSeat(ctx, p)
	}
	seat, found, err := account.Seats.Get(ctx, s.Accounts, p.Org, p.UserID)
	switch {
	case err != nil:
		return SignedIn{}, err
	case !found || !p.enters(seat.Value.Seat):
		return SignedIn{}, s.refuseSeat(ctx, p)
	case seat.Value.State == account.SeatActive:
		return s.openSession(ctx, p, &seat)
	}
	var in SignedIn
	err = s.Accounts.Exclusive(ctx, account.SeatsSection(p.Org), func(ctx context.Context) error {
		seat, found, err := account.Seats.Get(ctx, s.Accounts, p.Org, p.UserID)
		if err != nil {
			return err
		}
		if !found || !p.enters(seat.Value.Seat) {
			return s.refuseSeat(ctx, p)
		}
		// Owners are never locked out (spec: hosted-api §16).
		if seat.Value.State == account.SeatInvited && seat.Value.Kind == account.SeatAdmin {
			if err := s.Meters.Check(ctx, p.Org, DimensionSeats); err != nil {
				return err
			}
		}
		in, err = s.openSession(ctx, p, &seat)
		return err
	})
	return in, err
}

// enters tells whether the proof is good for the seat: that of the bootstrap
// credential only for an owner's.
func (p Proved) enters(seat account.Seat) bool {
	return seat.State != account.SeatRemoved && (p.Method != MethodBootstrap || seat.Kind == account.SeatOwner)
}

// RefuseSignIn records a failed proof, with its reason for the log only, and is the
// one answer to all of them. began is when the attempt arrived: the answer comes
// after a fixed time.
func (s *Service) RefuseSignIn(ctx context.Context, p Proved, reason string, began time.Time) error {
	s.Logger.Warn("a sign-in was refused", "method", p.Method, "reason", reason, "address", p.Address)
	err := s.auditRefusal(ctx, p, reason)
	defer admission.Away(ctx)() // it only waits from here on
	select {
	case <-time.After(time.Until(began.Add(s.RefusalTime))):
	case <-ctx.Done():
	}
	if err != nil {
		return err
	}
	return fault.Unauthenticated("sign_in_failed", "the sign-in failed")
}

func (s *Service) refuseSeat(ctx context.Context, p Proved) error {
	if err := s.auditRefusal(ctx, p, "no seat"); err != nil {
		return err
	}
	return fault.Cloud("seat_required", "a seat in the org is required")
}

type sessionDetail struct {
	Method  string `json:"method"`
	Address string `json:"address,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// auditRefusal writes to the log of the org, where there is one, else to that of no
// org.
func (s *Service) auditRefusal(ctx context.Context, p Proved, reason string) error {
	org := ""
	if account.ValidOrgID(p.Org) {
		_, found, err := account.Orgs.Get(ctx, s.Accounts, p.Org, account.OrgID)
		if err != nil {
			return err
		}
		if found {
			org = p.Org
		}
	}
	tx := s.Accounts.Begin(ctx)
	tx.Audit(org, cut(p.UserID), "session.refuse", cut(p.UserID), sessionDetail{p.Method, p.Address, reason})
	return tx.Commit()
}

// mayEnterNowhere: a session of no org serves to create one.
func (s *Service) mayEnterNowhere(ctx context.Context, p Proved) error {
	if s.OrgCreation == CreationSession && p.Method == MethodOIDC {
		return nil
	}
	if s.isBootstrap(p.UserID) {
		any, err := s.anyOrg(ctx)
		if err != nil {
			return err
		}
		if !any {
			return nil
		}
	}
	return s.refuseSeat(ctx, p)
}

// openSession writes the session, the seat's activation, the end of the session
// that came with the request and of those past the limit, and the log, in one
// commit.
func (s *Service) openSession(ctx context.Context, p Proved, seat *account.Row[account.StoredSeat]) (SignedIn, error) {
	now := s.Accounts.Now(ctx)
	token, text := secret.NewToken(secret.PrefixSession)
	in := SignedIn{Token: text, CSRFToken: s.csrfToken(token.ID), Session: account.Session{
		ID: token.ID, UserID: p.UserID, Org: p.Org, AuthMethod: p.Method, CreatedAt: now, LastSeenAt: now,
		ExpiresAt: now + s.SessionLife.Milliseconds(), IdleExpiresAt: now + min(s.SessionLife, s.SessionIdle).Milliseconds(),
		ClientAddress: p.Address, UserAgent: cut(p.Agent)}}
	tx := s.Accounts.Begin(ctx)
	account.Sessions.Put(tx, "", token.ID, account.StoredSession{Session: in.Session, Hash: secret.Hash(text)}, 0)
	tx.Audit(p.Org, p.UserID, "session.create", token.ID, sessionDetail{Method: p.Method, Address: p.Address})
	if seat != nil {
		value := seat.Value
		if value.State == account.SeatInvited {
			value.State, value.ActivatedAt, value.Etag = account.SeatActive, &now, account.NextEtag(value.Etag)
			tx.Audit(p.Org, p.UserID, "seat.activate", p.UserID, kindDetail{value.Kind})
			value.LastSeenAt = &now
			account.Seats.Put(tx, p.Org, p.UserID, value, seat.Version)
		} else {
			account.Seats.Require(tx, p.Org, p.UserID, seat.Version)
		}
		in.Seat = &value.Seat
	}
	if err := s.endOthers(ctx, tx, p, now); err != nil {
		return SignedIn{}, err
	}
	if err := tx.Commit(); err != nil {
		return SignedIn{}, err
	}
	if p.Method == MethodBootstrap {
		s.Logger.Warn("the bootstrap credential was used", "user", p.UserID, "org", p.Org, "address", p.Address)
	}
	return in, nil
}

func (s *Service) endOthers(ctx context.Context, tx *account.Tx, p Proved, now int64) error {
	if _, row, err := s.sessionCaller(ctx, Presented{Cookie: p.Cookie}); err == nil && row.Value.UserID != p.UserID {
		tx.Audit(row.Value.Org, row.Value.UserID, "session.end", row.ID, nil)
		account.Sessions.Delete(tx, "", row.ID, row.Version)
	} else if storageFailed(err) {
		return err
	}
	_, replaced, _ := secret.ParseToken(p.Cookie)
	var live []account.Row[account.StoredSession]
	for row, err := range account.Sessions.Under(ctx, s.Accounts, "", p.UserID) {
		switch {
		case err != nil:
			return err
		case !row.Value.Live(now):
			account.Sessions.Delete(tx, "", row.ID, row.Version)
		case row.ID == replaced && secret.Matches(p.Cookie, row.Value.Hash):
			tx.Audit(row.Value.Org, p.UserID, "session.end", row.ID, nil)
			account.Sessions.Delete(tx, "", row.ID, row.Version)
		default:
			live = append(live, row)
		}
	}
	slices.SortFunc(live, func(a, b account.Row[account.StoredSession]) int { return int(b.Value.CreatedAt - a.Value.CreatedAt) })
	for _, row := range live[min(len(live), MaxSessions-1):] {
		tx.Audit(row.Value.Org, p.UserID, "session.revoke", row.ID, nil)
		account.Sessions.Delete(tx, "", row.ID, row.Version)
	}
	return nil
}

func storageFailed(err error) bool {
	f, ok := err.(*fault.Error)
	return ok && f.Failed()
}
