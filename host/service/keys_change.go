package service

import (
	"context"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
)

// MayRotateKey is the gate of RotateKey, of a key that is not there too.
func (s *Service) MayRotateKey(ctx context.Context, a *Access, id string) error {
	row, _, err := account.Keys.Get(ctx, s.Accounts, a.Org.ID, id)
	if err != nil {
		return err
	}
	return s.mayManageKey(ctx, a, row.Value.Namespace)
}

// RotateKey makes a new secret under the key's id; the old one goes on for the
// overlap.
func (s *Service) RotateKey(ctx context.Context, a *Access, id string, in RotateInput) (IssuedKey, error) {
	if err := in.Check(); err != nil {
		return IssuedKey{}, err
	}
	overlap := defaultOverlap
	if in.OverlapMs != nil {
		overlap = *in.OverlapMs
	}
	var issued IssuedKey
	err := account.Retry(func() error {
		applied, err := s.Accounts.Applied(ctx)
		if err != nil {
			return err
		}
		row, err := s.managed(ctx, a, id)
		if err != nil {
			return err
		}
		if applied {
			issued = IssuedKey{APIKey: row.Value.APIKey}
			return nil
		}
		key, now := row.Value, s.Accounts.Now(ctx)
		if err := s.mayHold(ctx, a, key); err != nil {
			return err
		}
		if !key.Live(now) || key.PreviousValidUntil != nil && now < *key.PreviousValidUntil {
			from := "rotating"
			if !key.Live(now) {
				from = "ended"
			}
			return fault.Cloud("invalid_transition", "the key cannot be rotated now").With("from", from).With("operation", "rotate")
		}
		_, text := secret.RenewToken(prefixes[key.Kind], id)
		key.PreviousHash, key.PreviousValidUntil = nil, nil
		if overlap > 0 {
			key.PreviousHash, key.PreviousValidUntil = key.Hash, new(now+overlap)
		}
		key.Hash, key.Hint, key.RotatedAt, key.Etag = secret.Hash(text), secret.Hint(text), &now, account.NextEtag(key.Etag)
		tx := s.Accounts.Begin(ctx)
		account.Keys.Put(tx, a.Org.ID, id, key, row.Version)
		tx.Audit(a.Org.ID, a.Caller.Actor(), "api_key.rotate", id, struct {
			OverlapMs int64 `json:"overlapMs"`
		}{overlap})
		issued = IssuedKey{key.APIKey, text}
		return tx.Commit()
	})
	return issued, err
}

// RevokeKey ends a key at once, and with an admin key what it created. Repeating
// it changes nothing.
func (s *Service) RevokeKey(ctx context.Context, a *Access, id string, match Match) error {
	return account.Retry(func() error {
		row, err := s.managed(ctx, a, id)
		if err != nil {
			return err
		}
		if err := match.check(row.Value.Etag); err != nil {
			return err
		}
		tx := s.Accounts.Begin(ctx)
		if owner := row.Value.UserID; owner != "" {
			seat, err := s.mayTake(ctx, a, owner, "api_key.revoke")
			if err != nil {
				return err
			}
			if seat.Version > 0 {
				account.Seats.Require(tx, a.Org.ID, owner, seat.Version)
			}
		}
		if _, err := s.revokeKeys(ctx, tx, a.Org.ID, a.Caller.Actor(), []account.Row[account.StoredKey]{row}, s.Accounts.Now(ctx)); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// revokeKeys revokes keys, and those that they created, unless they are revoked.
func (s *Service) revokeKeys(ctx context.Context, tx *account.Tx, org, actor string, keys []account.Row[account.StoredKey], now int64) (n int, err error) {
	all, err := s.keysOf(ctx, org, func(k account.StoredKey) bool { return k.RevokedAt == nil })
	if err != nil {
		return 0, err
	}
	gone := map[string]bool{}
	for len(keys) > 0 {
		row := keys[0]
		keys = keys[1:]
		if gone[row.ID] || row.Value.RevokedAt != nil {
			continue
		}
		gone[row.ID] = true
		n++
		row.Value.RevokedAt, row.Value.Etag = &now, account.NextEtag(row.Value.Etag)
		account.Keys.Put(tx, org, row.ID, row.Value, row.Version)
		tx.Audit(org, actor, "api_key.revoke", row.ID, detailOf(row.Value.APIKey))
		for _, other := range all {
			if other.Value.CreatedByKey == row.ID {
				keys = append(keys, other)
			}
		}
	}
	return n, nil
}

// managed is a key that the caller may manage; who may manage none is denied
// whether or not it exists.
func (s *Service) managed(ctx context.Context, a *Access, id string) (account.Row[account.StoredKey], error) {
	row, found, err := account.Keys.Get(ctx, s.Accounts, a.Org.ID, id)
	if err != nil {
		return row, err
	}
	if err := s.mayManageKey(ctx, a, row.Value.Namespace); err != nil {
		return row, err
	}
	if !found {
		return row, errNoKey()
	}
	return row, nil
}

// mayHold judges who may come to know a key's new secret: of an admin key only its
// own user, of a principal key who holds what its rows confer, of a publisher key who
// may publish for its namespace.
func (s *Service) mayHold(ctx context.Context, a *Access, key account.StoredKey) error {
	switch {
	case key.Kind == account.KeyAdmin && (a.Caller.UserID == "" || a.Caller.UserID != key.UserID):
		return fault.Cloud("escalation_refused", "an admin key is rotated by its own user only; revoke it instead").With("missing", []Missing{})
	case key.Kind == account.KeyPrincipal:
		return s.holdsService(ctx, a, key.ServiceID)
	case key.Kind == account.KeyPublisher:
		return s.mayPublish(ctx, a, key.Namespace)
	}
	return nil
}
