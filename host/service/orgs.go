package service

import (
	"context"
	"strings"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
)

// OrgSummary is an org in the list of a user's own.
type OrgSummary struct {
	ID   string      `json:"id"`
	Name string      `json:"name"`
	Mode string      `json:"mode"`
	Seat SeatSummary `json:"seat"`

	createdAt int64
}

// SeatSummary is a seat in passing.
type SeatSummary struct {
	Kind  string `json:"kind"`
	State string `json:"state"`
}

// OrgInput creates an org.
type OrgInput struct {
	ID          *string `json:"id,omitempty"` // generated when absent
	Name        string  `json:"name"`
	OwnerUserID string  `json:"ownerUserId"`
}

// Check is invalid_request, or nil.
func (in OrgInput) Check() error {
	var s shape
	if in.ID != nil && !account.ValidOrgID(*in.ID) {
		s.add("id", "must match ^[a-z0-9][a-z0-9-]{1,56}$")
	}
	s.text("name", in.Name, maxName)
	s.user("ownerUserId", in.OwnerUserID)
	return s.err()
}

// OrgUpdate changes an org.
type OrgUpdate struct {
	Name               *string `json:"name,omitempty"`
	PrimaryApplication *string `json:"primaryApplication,omitempty"`
}

// Check is invalid_request, or nil.
func (in OrgUpdate) Check() error {
	var s shape
	s.optional("name", in.Name)
	s.optional("primaryApplication", in.PrimaryApplication)
	return s.err()
}

// Orgs lists the orgs in which the caller has a seat, invited ones included, in the
// order (createdAt, id).
func (s *Service) Orgs(ctx context.Context, caller Caller, p Page) (List[OrgSummary], error) {
	if err := s.AuthorizeSession(ctx, caller, false); err != nil {
		return List[OrgSummary]{}, err
	}
	var rows []OrgSummary
	for place, err := range account.Places.Under(ctx, s.Accounts, "", caller.UserID) {
		if err != nil {
			return List[OrgSummary]{}, err
		}
		id := place.Value.Org
		seat, found, err := account.Seats.Get(ctx, s.Accounts, id, caller.UserID)
		if err != nil {
			return List[OrgSummary]{}, err
		}
		if !found || seat.Value.State == account.SeatRemoved {
			continue
		}
		org, found, err := account.Orgs.Get(ctx, s.Accounts, id, account.OrgID)
		if err != nil {
			return List[OrgSummary]{}, err
		}
		if found {
			rows = append(rows, OrgSummary{ID: id, Name: org.Value.Name, Mode: org.Value.Mode, createdAt: org.Value.CreatedAt,
				Seat: SeatSummary{seat.Value.Kind, seat.Value.State}})
		}
	}
	return listed(rows, func(o OrgSummary) string { return oldestFirst(o.createdAt, o.ID) }, p), nil
}

// CreateOrg makes an org with its owner's seat: active when it is the caller's,
// else invited.
func (s *Service) CreateOrg(ctx context.Context, caller Caller, in OrgInput) (account.Org, account.Seat, error) {
	refused := func(err error) (account.Org, account.Seat, error) { return account.Org{}, account.Seat{}, err }
	if err := s.AuthorizeSession(ctx, caller, true); err != nil {
		return refused(err)
	}
	if err := in.Check(); err != nil {
		return refused(err)
	}
	if !s.mayCreate(caller, in.OwnerUserID) {
		return refused(fault.Cloud("org_creation_disabled", "this user may not create this org"))
	}
	id := generatedOrgID(account.NewID(ctx))
	if in.ID != nil {
		id = *in.ID
	}
	applied, err := s.Accounts.Applied(ctx)
	if err != nil {
		return refused(err)
	}
	if applied {
		return s.orgAndSeat(ctx, id, in.OwnerUserID)
	}
	now := s.Accounts.Now(ctx)
	org := account.Org{ID: id, Name: in.Name, Mode: account.ModeUnlinked, CreatedAt: now, Etag: account.FirstEtag}
	seat := account.Seat{UserID: in.OwnerUserID, Kind: account.SeatOwner, State: account.SeatInvited,
		InvitedAt: now, InvitedBy: caller.Actor(), Etag: account.FirstEtag}
	if in.OwnerUserID == caller.UserID {
		seat.State, seat.ActivatedAt = account.SeatActive, &now
	}
	tx := s.Accounts.Begin(ctx)
	account.Orgs.Put(tx, id, account.OrgID, org, 0)
	account.OrgIDs.Put(tx, "", id, struct{}{}, 0)
	account.Seats.Put(tx, id, seat.UserID, account.StoredSeat{Seat: seat}, 0)
	account.Places.Put(tx, "", account.PlaceID(id, seat.UserID), account.Place{UserID: seat.UserID, Org: id}, 0)
	tx.Audit(id, caller.Actor(), "org.create", id, nameDetail{in.Name})
	err = tx.Commit()
	if err == error(account.ErrMoved) {
		err = fault.Cloud("org_id_taken", "the org id is taken")
	}
	if err != nil {
		return refused(err)
	}
	return org, seat, nil
}

func (s *Service) mayCreate(caller Caller, owner string) bool {
	if s.OrgCreation == CreationSession {
		return owner == caller.UserID
	}
	return s.isBootstrap(caller.UserID)
}

// generatedOrgID makes an org's id of a row's.
func generatedOrgID(id string) string { return "o" + strings.ReplaceAll(id, "-", "")[:20] }

func (s *Service) orgAndSeat(ctx context.Context, id, userID string) (account.Org, account.Seat, error) {
	org, _, err := account.Orgs.Get(ctx, s.Accounts, id, account.OrgID)
	if err != nil {
		return account.Org{}, account.Seat{}, err
	}
	seat, _, err := account.Seats.Get(ctx, s.Accounts, id, userID)
	return org.Value, seat.Value.Seat, err
}

// UpdateOrg changes name and primary application, which is for owners.
func (s *Service) UpdateOrg(ctx context.Context, a *Access, in OrgUpdate, match Match) (account.Org, error) {
	if err := in.Check(); err != nil {
		return account.Org{}, err
	}
	if err := a.RequireOwner(ctx, "org.update"); err != nil {
		return account.Org{}, err
	}
	var org account.Org
	update := func(ctx context.Context) error {
		row, found, err := account.Orgs.Get(ctx, s.Accounts, a.Org.ID, account.OrgID)
		if err != nil {
			return err
		}
		if !found {
			return errNoOrg()
		}
		org = row.Value
		if err := match.check(org.Etag); err != nil {
			return err
		}
		if in.Name != nil {
			org.Name = *in.Name
		}
		if in.PrimaryApplication != nil {
			if org.Mode == account.ModeFederated {
				return fault.Cloud("invalid_transition", "the primary application cannot change while the org is federated").
					With("from", org.Mode).With("operation", "org.update")
			}
			exists, err := s.Applications.Exists(ctx, org.ID, *in.PrimaryApplication)
			if err != nil {
				return err
			}
			if !exists {
				return fault.Cloud("application_not_found", "application not found")
			}
			org.PrimaryApplication = in.PrimaryApplication
		}
		org.Etag = account.NextEtag(org.Etag)
		tx := s.Accounts.Begin(ctx)
		account.Orgs.Put(tx, org.ID, account.OrgID, org, row.Version)
		tx.Audit(org.ID, a.Caller.Actor(), "org.update", org.ID, in)
		return tx.Commit()
	}
	// Not beside the deletion of the application that is to be primary.
	err := s.Applications.Steady(ctx, a.Org.ID, func(ctx context.Context) error {
		return account.Retry(func() error { return update(ctx) })
	})
	return org, err
}

// anyOrg tells whether an org exists at all.
func (s *Service) anyOrg(ctx context.Context) (bool, error) {
	for _, err := range account.OrgIDs.Page(ctx, s.Accounts, "", "", 1) {
		return err == nil, err
	}
	return false, nil
}

type nameDetail struct {
	Name string `json:"name"`
}
