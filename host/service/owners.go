package service

import (
	"context"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
)

// ordinary is the access without what a bootstrap session may do to recover an org.
func (a *Access) ordinary() *Access {
	if !a.recovers {
		return a
	}
	plain := *a
	plain.recovers, plain.judges, plain.narrowed = false, nil, nil
	return &plain
}

// seatOf is a user's seat, also a removed one. An id that storage would refuse has none.
func (s *Service) seatOf(ctx context.Context, org, userID string) (account.Row[account.StoredSeat], bool, error) {
	if userID == "" || !storable(userID, maxUser) {
		return account.Row[account.StoredSeat]{}, false, nil
	}
	return account.Seats.Get(ctx, s.Accounts, org, userID)
}

// mayTake is owner_required when the user is an active owner and the caller is none.
// It answers the user's seat as it was judged; version 0 is none.
func (s *Service) mayTake(ctx context.Context, a *Access, userID, act string) (account.Row[account.StoredSeat], error) {
	row, found, err := s.seatOf(ctx, a.Org.ID, userID)
	if err == nil && found && row.Value.ActiveOwner() {
		err = a.RequireOwner(ctx, act)
	}
	return row, err
}

// TakeFrom runs a write that takes from a user what an owner needs to act: their
// rights in account data, their being active, their rows. From an active owner only
// an owner takes (owner_required), and never from the last one who can act
// (last_owner). Both are judged in the section of the org's seats, which the write
// runs in. The write may be repeated when it answers account.ErrMoved.
func (s *Service) TakeFrom(ctx context.Context, a *Access, userID, act string, write func(context.Context) error) error {
	row, found, err := s.seatOf(ctx, a.Org.ID, userID)
	if err != nil {
		return err
	}
	if !found || row.Value.State == account.SeatRemoved {
		return write(ctx)
	}
	return s.inSeats(ctx, a.Org.ID, func(ctx context.Context) error {
		row, err := s.mayTake(ctx, a, userID, act)
		if err != nil {
			return err
		}
		if row.Value.ActiveOwner() {
			if err := s.keepAble(ctx, a.Org.ID, row.Value); err != nil {
				return err
			}
		}
		return write(ctx)
	})
}

// keepOwner is last_owner when the seat is the last owner in state active, the last
// invited one when none is active, or the last one who can act.
func (s *Service) keepOwner(ctx context.Context, org string, leaving account.StoredSeat) error {
	active, invited := 0, 0
	for row, err := range account.Seats.All(ctx, s.Accounts, org) {
		if err != nil {
			return err
		}
		if row.Value.Kind != account.SeatOwner || row.Value.UserID == leaving.UserID {
			continue
		}
		switch row.Value.State {
		case account.SeatActive:
			active++
		case account.SeatInvited:
			invited++
		}
	}
	if active == 0 && (leaving.State == account.SeatActive || invited == 0) {
		return fault.Cloud("last_owner", "the last owner seat of an org stays; make another owner first")
	}
	return s.keepAble(ctx, org, leaving)
}

// keepAble is last_owner when the owner can act and no other owner can.
func (s *Service) keepAble(ctx context.Context, org string, leaving account.StoredSeat) error {
	if able, err := s.canAct(ctx, org, leaving); err != nil || !able {
		return err
	}
	for row, err := range account.Seats.All(ctx, s.Accounts, org) {
		if err != nil {
			return err
		}
		if row.Value.UserID == leaving.UserID {
			continue
		}
		if able, err := s.canAct(ctx, org, row.Value); err != nil || able {
			return err
		}
	}
	return fault.Cloud("last_owner", "no other owner can act: each is inactive at the org root or has account revokes; make or restore another owner first")
}

// canAct tells whether a seat is an active owner's whom the org root calls active and
// whom no account revoke narrows. Such an owner can undo whatever was done to others.
// A root that is silent leaves what it said last.
func (s *Service) canAct(ctx context.Context, org string, seat account.StoredSeat) (bool, error) {
	if !seat.ActiveOwner() {
		return false, nil
	}
	for _, err := range account.Revokes.Under(ctx, s.Accounts, org, seat.UserID) {
		return false, err
	}
	limited, end := context.WithTimeout(ctx, closureTimeout)
	defer end()
	active, err := s.Root.Active(limited, org, seat.UserID)
	if err != nil {
		active = !seat.Inactive || rootless(err)
	}
	return active, nil
}
