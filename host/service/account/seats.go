package account

import "context"

// Kinds and states of seats.
const (
	SeatOwner  = "owner"
	SeatAdmin  = "admin"
	SeatPortal = "portal"

	SeatInvited = "invited"
	SeatActive  = "active"
	SeatRemoved = "removed"
)

// Seat is a user's place in an org (spec: hosted-api §7).
type Seat struct {
	UserID      string  `json:"userId"`
	Kind        string  `json:"kind"`
	State       string  `json:"state"`
	Email       *string `json:"email"`
	DisplayName *string `json:"displayName"`
	InvitedAt   int64   `json:"invitedAt"`
	InvitedBy   string  `json:"invitedBy"`
	ActivatedAt *int64  `json:"activatedAt"`
	RemovedAt   *int64  `json:"removedAt"`
	LastSeenAt  *int64  `json:"lastSeenAt"`
	Etag        string  `json:"etag"`
}

// Administers tells whether the seat's kind counts as admin_seats and holds a
// built-in role.
func (s Seat) Administers() bool { return s.Kind == SeatOwner || s.Kind == SeatAdmin }

// ActiveOwner tells whether the seat is an owner's in state active.
func (s Seat) ActiveOwner() bool { return s.Kind == SeatOwner && s.State == SeatActive }

// Counts tells whether the seat is one of the meter admin_seats.
func (s Seat) Counts() bool { return s.Administers() && s.State == SeatActive }

// StoredSeat is a seat with what is kept beside it and never answered.
type StoredSeat struct {
	Seat

	// Inactive is that the org root reported the user inactive when it was last asked,
	// which holds while it cannot be asked.
	Inactive bool `json:"inactive,omitempty"`
}

// Seats are by user id. SeatsSection names the exclusive section in which owners,
// meters and limits of seats are judged.
var Seats = Collection[StoredSeat]{Name: "seats"}

// SeatsSection is the exclusive section of an org's seats.
func SeatsSection(org string) string { return "seats:" + org }

// Place says that a user has a seat in an org, whatever its state. It is the one
// way from a user to orgs.
type Place struct {
	UserID string `json:"userId"`
	Org    string `json:"org"`
}

// Places lie in the area of no org, under PlaceID; Under finds those of a user.
var Places = Collection[Place]{Name: "places", Key: func(p Place) string { return p.UserID }}

// PlaceID is where a user's place in an org lies.
func PlaceID(org, userID string) string { return org + separator + userID }

// CountSeats is the meter admin_seats: owner and admin seats in state active.
func (s *Store) CountSeats(ctx context.Context, org string) (n int64, err error) {
	for row, err := range Seats.All(ctx, s, org) {
		if err != nil {
			return 0, err
		}
		if row.Value.Counts() {
			n++
		}
	}
	return n, nil
}
