package service

import (
	"context"
	"iter"

	"github.com/authzhost/authz/host/internal/search"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// MaxSeats is how many owner and admin seats an org has, invited and active.
const MaxSeats = 1000

// SeatInput invites a seat.
type SeatInput struct {
	UserID      string  `json:"userId"`
	Kind        string  `json:"kind,omitempty"` // "" is portal
	Email       *string `json:"email,omitempty"`
	DisplayName *string `json:"displayName,omitempty"`
}

// Check is invalid_request, or nil.
func (in SeatInput) Check() error {
	var s shape
	s.user("userId", in.UserID)
	if !oneOf(in.Kind, "", account.SeatOwner, account.SeatAdmin, account.SeatPortal) {
		s.add("kind", "must be owner, admin or portal")
	}
	s.email("email", in.Email)
	s.optional("displayName", in.DisplayName)
	return s.err()
}

// SeatUpdate changes a seat.
type SeatUpdate struct {
	Kind        *string `json:"kind,omitempty"`
	Email       *string `json:"email,omitempty"`
	DisplayName *string `json:"displayName,omitempty"`
}

// Check is invalid_request, or nil.
func (in SeatUpdate) Check() error {
	var s shape
	if in.Kind != nil && !oneOf(*in.Kind, account.SeatOwner, account.SeatAdmin, account.SeatPortal) {
		s.add("kind", "must be owner, admin or portal")
	}
	s.email("email", in.Email)
	s.optional("displayName", in.DisplayName)
	return s.err()
}

// SeatQuery filters seats; "" is any. Typed is what the user id, the display name or the
// e-mail address has.
type SeatQuery struct{ State, Kind, Typed string }

type kindDetail struct {
	Kind string `json:"kind"`
}

// Seats lists seats by user id.
func (s *Service) Seats(ctx context.Context, a *Access, q SeatQuery, p Page) (List[account.Seat], error) {
	rows := values(account.Seats.Page(ctx, s.Accounts, a.Org.ID, p.After, 0))
	wanted := func(seat account.StoredSeat) bool {
		return (q.State == "" || q.State == seat.State) && (q.Kind == "" || q.Kind == seat.Kind) &&
			search.Finds(q.Typed, seat.UserID, orEmpty(seat.DisplayName), orEmpty(seat.Email))
	}
	l, err := taken(rows, wanted, func(seat account.StoredSeat) string { return seat.UserID }, p)
	seats := List[account.Seat]{Rows: make([]account.Seat, len(l.Rows)), Next: l.Next}
	for i, seat := range l.Rows {
		seats.Rows[i] = seat.Seat
	}
	return seats, err
}

// OneSeat is a seat of an org, in any state.
func (s *Service) OneSeat(ctx context.Context, a *Access, userID string) (account.Seat, error) {
	row, found, err := account.Seats.Get(ctx, s.Accounts, a.Org.ID, userID)
	if err == nil && !found {
		err = errNoSeat()
	}
	return row.Value.Seat, err
}

func errNoSeat() error { return fault.Cloud("seat_not_found", "seat not found") }

// values are the values of rows.
func values[T any](rows iter.Seq2[account.Row[T], error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if !yield(row.Value, err) {
				return
			}
		}
	}
}

// MayInviteSeat judges who may invite a seat of the kind.
func (s *Service) MayInviteSeat(ctx context.Context, a *Access, in SeatInput) error {
	return s.mayConfer(ctx, a, in.Kind, "seat.invite")
}

// InviteSeat makes a seat, or invites one again that was removed.
func (s *Service) InviteSeat(ctx context.Context, a *Access, in SeatInput) (account.Seat, error) {
	if err := in.Check(); err != nil {
		return account.Seat{}, err
	}
	if in.Kind == "" {
		in.Kind = account.SeatPortal
	}
	if err := s.MayInviteSeat(ctx, a, in); err != nil {
		return account.Seat{}, err
	}
	var seat account.Seat
	err := s.inSeats(ctx, a.Org.ID, func(ctx context.Context) error {
		applied, err := s.Accounts.Applied(ctx)
		if err != nil {
			return err
		}
		row, found, err := account.Seats.Get(ctx, s.Accounts, a.Org.ID, in.UserID)
		if err != nil {
			return err
		}
		if applied {
			seat = row.Value.Seat
			return nil
		}
		if found && row.Value.State != account.SeatRemoved {
			return fault.Cloud("seat_exists", "the user has a seat already")
		}
		seat = account.Seat{UserID: in.UserID, Kind: in.Kind, State: account.SeatInvited, Email: in.Email, DisplayName: in.DisplayName,
			InvitedAt: s.Accounts.Now(ctx), InvitedBy: a.Caller.Actor(), Etag: account.NextEtag(row.Value.Etag)}
		if err := s.room(ctx, a.Org.ID, seat); err != nil {
			return err
		}
		tx := s.Accounts.Begin(ctx)
		account.Seats.Put(tx, a.Org.ID, in.UserID, account.StoredSeat{Seat: seat, Inactive: row.Value.Inactive}, row.Version)
		if !found {
			account.Places.Put(tx, "", account.PlaceID(a.Org.ID, in.UserID), account.Place{UserID: in.UserID, Org: a.Org.ID}, 0)
		}
		tx.Audit(a.Org.ID, a.Caller.Actor(), "seat.invite", in.UserID, kindDetail{in.Kind})
		return tx.Commit()
	})
	return seat, err
}

// UpdateSeat changes a seat. Its own display name anybody changes; everything else
// needs cloud.seats.update_seat, and what touches an owner seat's kind an owner.
func (s *Service) UpdateSeat(ctx context.Context, a *Access, userID string, in SeatUpdate, match Match) (account.Seat, error) {
	if err := in.Check(); err != nil {
		return account.Seat{}, err
	}
	own := a.Caller.UserID != "" && userID == a.Caller.UserID && in.Kind == nil && in.Email == nil && in.DisplayName != nil
	if !own {
		if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
			return account.Seat{}, err
		}
	}
	var seat account.Seat
	err := s.inSeats(ctx, a.Org.ID, func(ctx context.Context) error {
		row, err := s.seat(ctx, a.Org.ID, userID)
		if err != nil {
			return err
		}
		seat = row.Value.Seat
		if err := match.check(seat.Etag); err != nil {
			return err
		}
		if in.Kind != nil && *in.Kind != seat.Kind {
			if err := s.changeKind(ctx, a, row.Value, *in.Kind); err != nil {
				return err
			}
			seat.Kind = *in.Kind
		}
		if in.Email != nil {
			seat.Email = in.Email
		}
		if in.DisplayName != nil {
			seat.DisplayName = in.DisplayName
		}
		seat.Etag = account.NextEtag(seat.Etag)
		tx := s.Accounts.Begin(ctx)
		account.Seats.Put(tx, a.Org.ID, userID, account.StoredSeat{Seat: seat, Inactive: row.Value.Inactive}, row.Version)
		tx.Audit(a.Org.ID, a.Caller.Actor(), "seat.update", userID, in)
		return tx.Commit()
	})
	return seat, err
}

// changeKind judges that a seat becomes one of another kind.
func (s *Service) changeKind(ctx context.Context, a *Access, row account.StoredSeat, kind string) error {
	if row.Kind == account.SeatOwner {
		if err := a.requireOwnerProof(ctx, "seat.update"); err != nil {
			return err
		}
		if err := s.keepOwner(ctx, a.Org.ID, row); err != nil {
			return err
		}
	}
	if err := s.mayConfer(ctx, a, kind, "seat.update"); err != nil {
		return err
	}
	if row.Administers() {
		return nil
	}
	seat := row.Seat
	seat.Kind = kind
	if err := s.room(ctx, a.Org.ID, seat); err != nil {
		return err
	}
	if seat.Counts() {
		return s.Meters.Check(ctx, a.Org.ID, DimensionSeats)
	}
	return nil
}

// mayConfer judges the kind of seat that a caller gives: an owner's only an owner, and
// that and an admin's only who holds what its role does.
func (s *Service) mayConfer(ctx context.Context, a *Access, kind, act string) error {
	switch kind {
	case account.SeatOwner:
		if err := a.requireOwnerProof(ctx, act); err != nil {
			return err
		}
	case account.SeatAdmin:
	default:
		return nil
	}
	return a.holdsAll(ctx, []conferred{{patterns: []string{cloud.Everything}, scope: authz.Global}})
}

// room is limit_reached when the org has no place for one more owner or admin seat.
func (s *Service) room(ctx context.Context, org string, seat account.Seat) error {
	if !seat.Administers() {
		return nil
	}
	n := 0
	for row, err := range account.Seats.All(ctx, s.Accounts, org) {
		if err != nil {
			return err
		}
		if row.Value.Administers() && row.Value.State != account.SeatRemoved && row.Value.UserID != seat.UserID {
			n++
		}
	}
	if n >= MaxSeats {
		return fault.Cloud("limit_reached", "an org has at most %d owner and admin seats", MaxSeats).With("limit", MaxSeats)
	}
	return nil
}

// seat is a seat that is not removed.
func (s *Service) seat(ctx context.Context, org, userID string) (account.Row[account.StoredSeat], error) {
	row, found, err := account.Seats.Get(ctx, s.Accounts, org, userID)
	if err == nil && (!found || row.Value.State == account.SeatRemoved) {
		err = errNoSeat()
	}
	return row, err
}

// inSeats runs fn in the section of the org's seats, again when a host noted in
// passing that a seat was seen.
func (s *Service) inSeats(ctx context.Context, org string, fn func(context.Context) error) error {
	return s.Accounts.Exclusive(ctx, account.SeatsSection(org), func(ctx context.Context) error {
		return account.Retry(func() error { return fn(ctx) })
	})
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
