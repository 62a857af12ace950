package service

import (
	"context"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type changedGrant struct {
	grantDetail
	Before authz.Expiry `json:"before,omitzero"`
}

// MayChangeAccountGrants is the gate of ChangeAccountGrants, the rows as they are now.
func (s *Service) MayChangeAccountGrants(ctx context.Context, a *Access, in provider.GrantsChange) error {
	if err := s.MayCreateAccountGrants(ctx, a, in.Create); err != nil {
		return err
	}
	var prolonged []provider.GrantInput
	for _, e := range in.Expire {
		row, found, err := s.AccountGrant(ctx, a.Org.ID, e.GrantID)
		if err != nil {
			return err
		}
		if found && Prolongs(row.ExpiresAt, e) {
			prolonged = append(prolonged, provider.GrantInput{Subject: row.Subject, RoleID: row.RoleID, Pattern: row.Pattern, Scope: row.Scope})
		}
	}
	return s.MayCreateAccountGrants(ctx, a, prolonged)
}

func expiryOf(e provider.GrantExpiry) authz.Expiry {
	if e.ExpiresAt == nil {
		return authz.Expiry{}
	}
	return authz.ExpiresAt(*e.ExpiresAt)
}

// Prolongs tells whether a grant that expires then lasts longer by a change.
func Prolongs(then authz.Expiry, by provider.GrantExpiry) bool {
	before, dated := then.At()
	after, bounded := expiryOf(by).At()
	return dated && (!bounded || after > before)
}

// ChangeAccountGrants deletes grants, gives others another expiry and creates some, in one
// commit, or does nothing of it. A grant that lasts longer confers as a new one does.
func (s *Service) ChangeAccountGrants(ctx context.Context, a *Access, in provider.GrantsChange) ([]authz.Grant, error) {
	if err := s.MayChangeAccountGrants(ctx, a, in); err != nil {
		return nil, err
	}
	return s.granting(ctx, a, in.Create, func(ctx context.Context, ids []string) ([]authz.Grant, error) {
		return s.changeAccountGrants(ctx, a, in, ids)
	})
}

func (s *Service) changeAccountGrants(ctx context.Context, a *Access, in provider.GrantsChange, ids []string) (created []authz.Grant, err error) {
	var detail struct {
		Deleted []grantDetail  `json:"deleted,omitempty"`
		Changed []changedGrant `json:"changed,omitempty"`
		Created []grantDetail  `json:"created,omitempty"`
	}
	told := func(g authz.Grant) grantDetail {
		return grantDetail{g.ID, g.Subject, g.RoleID, g.Pattern, g.Scope, g.ExpiresAt}
	}
	tx := s.Accounts.Begin(ctx)
	for _, id := range in.Delete {
		row, err := s.accountGrantRow(ctx, a.Org.ID, id)
		if err != nil {
			return nil, err
		}
		account.Grants.Delete(tx, a.Org.ID, id, row.Version)
		detail.Deleted = append(detail.Deleted, told(row.Value))
	}
	var giving []conferred
	roles := map[string]account.Row[authz.Role]{}
	for _, e := range in.Expire {
		row, err := s.accountGrantRow(ctx, a.Org.ID, e.GrantID)
		if err != nil {
			return nil, err
		}
		g, before := row.Value, row.Value.ExpiresAt
		prolongs := Prolongs(before, e)
		if prolongs {
			if err := s.mayEntrust(g.Subject); err != nil {
				return nil, err
			}
		}
		as := provider.GrantInput{Subject: g.Subject, RoleID: g.RoleID, Pattern: g.Pattern, Scope: g.Scope, ExpiresAt: expiryOf(e)}
		_, patterns, err := s.accountGrant(ctx, a, as, roles)
		if err != nil {
			return nil, err
		}
		if g.ExpiresAt = as.ExpiresAt; prolongs {
			giving = append(giving, conferred{patterns, g.Scope})
		}
		account.Grants.Put(tx, a.Org.ID, g.ID, g, row.Version)
		detail.Changed = append(detail.Changed, changedGrant{told(g), before})
	}
	created = make([]authz.Grant, 0, len(in.Create))
	for i, g := range in.Create {
		row, patterns, err := s.accountGrant(ctx, a, g, roles)
		if err != nil {
			return nil, err
		}
		row.ID = ids[i]
		created, giving = append(created, row), append(giving, conferred{patterns, row.Scope})
		account.Grants.Put(tx, a.Org.ID, row.ID, row, 0)
		detail.Created = append(detail.Created, told(row))
	}
	if err := a.holdsAll(ctx, giving); err != nil {
		return nil, err
	}
	s.keepRoles(tx, a.Org.ID, roles)
	tx.Audit(a.Org.ID, a.Caller.Actor(), "grant.change", account.NewID(ctx), detail)
	return created, tx.Commit()
}

// ChangedAccountGrants tells what a change answers that account data made already, before
// its host died. Then its rows no longer say whose they were.
func (s *Service) ChangedAccountGrants(ctx context.Context, a *Access, in provider.GrantsChange) (created []authz.Grant, done bool, err error) {
	if done, err = s.Accounts.Applied(ctx); err != nil || !done {
		return nil, false, err
	}
	created = []authz.Grant{}
	for range in.Create {
		row, found, err := s.AccountGrant(ctx, a.Org.ID, account.NewID(ctx))
		if err != nil {
			return nil, false, err
		}
		if found {
			created = append(created, row)
		}
	}
	return created, true, nil
}

func (s *Service) accountGrantRow(ctx context.Context, org, id string) (account.Row[authz.Grant], error) {
	row, found, err := account.Grants.Get(ctx, s.Accounts, org, id)
	if err == nil && !found {
		err = fault.Rejected(authz.CodeNotFound, "account data has no grant %s", spell.Quote(id))
	}
	return row, err
}
