package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
)

type seatAnswer struct {
	Seat account.Seat `json:"seat"`
}

type seats struct {
	Seats      []account.Seat `json:"seats"`
	NextCursor *string        `json:"nextCursor"`
}

type listSeats struct {
	inOrg
	State string `query:"state,omitempty" enum:"invited,active,removed"`
	Kind  string `query:"kind,omitempty" enum:"owner,admin,portal"`
	searching
	Paging
}

type inviteSeat struct {
	inOrg
	service.SeatInput
}

func (in inviteSeat) judge(ctx context.Context, c *Call) error {
	return c.core().MayInviteSeat(ctx, c.Access, in.SeatInput)
}

type seatOf struct {
	inOrg
	UserID string `path:"userId"`
}

type updateSeat struct {
	Org string `path:"org"`
	ID  string `path:"userId"`
	service.SeatUpdate
}

func seatRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/seats", Summary: "Seats, by user id", Gate: service.Cloud(cloud.SeatsRead).Recoverable()},
		func(ctx context.Context, c *Call, in listSeats) (out seats, err error) {
			list, err := c.core().Seats(ctx, c.Access, service.SeatQuery{State: in.State, Kind: in.Kind, Typed: in.Q}, c.Page)
			if err != nil {
				return out, err
			}
			out.Seats = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/seats", Summary: "Invite a user", Gate: service.Cloud(cloud.InviteSeat).Recoverable(), Proof: proofOfOwner, Status: http.StatusCreated,
		Own: []string{"seat_exists", "owner_required", "limit_reached", "escalation_refused"}, Audit: []string{"A: seat.invite"}},
		func(ctx context.Context, c *Call, in inviteSeat) (out seatAnswer, err error) {
			if err = c.root().BareUser(ctx, in.Org, "userId", in.UserID); err != nil {
				return out, err
			}
			if out.Seat, err = c.core().InviteSeat(ctx, c.Access, in.SeatInput); err == nil {
				c.located("orgs", in.Org, "seats", out.Seat.UserID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/seats/{userId}", Summary: "A seat", Gate: service.Cloud(cloud.SeatsRead).Recoverable(), Own: []string{"seat_not_found"}},
		func(ctx context.Context, c *Call, in seatOf) (out seatAnswer, err error) {
			out.Seat, err = c.core().OneSeat(ctx, c.Access, in.UserID)
			return out, err
		})
	add(t, endpoint{Method: "PATCH", Path: "/orgs/{org}/seats/{userId}", Summary: "Change a seat", Gate: service.Me.Recoverable(), Proof: proofOfOwner, Conditional: true,
		GateText: cloud.UpdateSeat + "@*; own displayName: Seat",
		Own:      []string{"seat_not_found", "last_owner", "owner_required", "escalation_refused", "limit_reached", "cap_reached", "forbidden"},
		Audit:    []string{"A: seat.update"}, Meter: []string{"admin_seats"}},
		func(ctx context.Context, c *Call, in updateSeat) (out seatAnswer, err error) {
			out.Seat, err = c.core().UpdateSeat(ctx, c.Access, in.ID, in.SeatUpdate, c.match())
			return out, err
		})
	add(t, endpoint{Method: "DELETE", Path: "/orgs/{org}/seats/{userId}", Summary: "Remove a seat", Gate: service.Cloud(cloud.DeleteSeat).Recoverable(), Proof: proofOfOwner, Conditional: true,
		Own: []string{"seat_not_found", "last_owner", "owner_required", "escalation_refused"}, Audit: []string{"A: seat.remove"}, Meter: []string{"admin_seats"}},
		func(ctx context.Context, c *Call, in seatOf) (None, error) {
			return None{}, c.core().RemoveSeat(ctx, c.Access, in.UserID, c.match())
		})
	add(t, endpoint{Method: "DELETE", Path: "/orgs/{org}/seats/{userId}/sessions", Summary: "End a user's sessions", Gate: service.Cloud(cloud.UpdateSeat).Recoverable(),
		Own: []string{"seat_not_found", "owner_required"}, Audit: []string{"A: session.revoke_all"}},
		func(ctx context.Context, c *Call, in seatOf) (None, error) {
			return None{}, c.core().RevokeSessions(ctx, c.Access, in.UserID)
		})
}
