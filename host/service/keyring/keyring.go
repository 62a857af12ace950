// Package keyring keeps which host keys the account data is sealed with, so that a
// host without one of them does not start, and seals everything anew when a newer
// key is first (spec: hosted-api §2). It holds ids of keys, never keys.
package keyring

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/secret"
)

type ring struct {
	IDs []string `json:"ids"` // of keys that something may be sealed with
}

const ringID = "ring"

var rings = account.Collection[ring]{Name: "host_keys"}

// MissingKeyError refuses a start: something may be sealed with a key that is not
// configured.
type MissingKeyError struct{ KeyID string }

func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("account data is sealed with the host key %s, which is not in service.host_keys: put it behind the new one, and take it out after authz service rekey", e.KeyID)
}

// Admit notes the newest key before anything is sealed with it. The error is a
// *MissingKeyError, or that of storage.
func Admit(ctx context.Context, s *account.Store, keys *secret.Keys) error {
	return admit(ctx, s, keys, false)
}

// Readmit is Admit for a host that runs: account data that was restored, or sealed
// anew by another host, may name other keys by now. What this host seals with is
// noted whatever else is missing, so that nobody drops a key that is in use.
func Readmit(ctx context.Context, s *account.Store, keys *secret.Keys) error {
	return admit(ctx, s, keys, true)
}

func admit(ctx context.Context, s *account.Store, keys *secret.Keys, running bool) error {
	return account.Retry(func() error {
		row, _, err := rings.Get(ctx, s, "", ringID)
		if err != nil {
			return err
		}
		var missing error
		for _, id := range row.Value.IDs {
			if !keys.Has(id) {
				missing = &MissingKeyError{KeyID: id}
			}
		}
		if slices.Contains(row.Value.IDs, keys.Current()) || missing != nil && !running {
			return missing
		}
		tx := s.Begin(ctx)
		rings.Put(tx, "", ringID, ring{IDs: append([]string{keys.Current()}, row.Value.IDs...)}, row.Version)
		return cmp.Or(tx.Commit(), missing)
	})
}

// Result of Rekey.
type Result struct {
	KeyID    string   `json:"keyId"`    // of the newest key, which seals everything now
	Resealed int      `json:"resealed"` // what was sealed with another
	Retired  []string `json:"retired"`  // ids of keys that nothing is sealed with any more
}

// Rekey runs every reseal, each of which answers how many it sealed anew, and then
// forgets the older keys. All hosts must have the newest key first by then: what
// another host sealed with an older one meanwhile would be lost with it.
func Rekey(ctx context.Context, s *account.Store, keys *secret.Keys, reseals ...func(context.Context) (int, error)) (Result, error) {
	r := Result{KeyID: keys.Current(), Retired: []string{}}
	row, _, err := rings.Get(ctx, s, "", ringID)
	if err != nil {
		return r, err
	}
	for _, reseal := range reseals {
		n, err := reseal(ctx)
		r.Resealed += n
		if err != nil {
			return r, err
		}
	}
	for _, id := range row.Value.IDs {
		if id != r.KeyID {
			r.Retired = append(r.Retired, id)
		}
	}
	// A host that noted another key meanwhile makes this fail: run it again.
	tx := s.Begin(ctx)
	rings.Put(tx, "", ringID, ring{IDs: []string{r.KeyID}}, row.Version)
	return r, tx.Commit()
}
