package pieces

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
)

// Ref says where a value lies; it is kept in the record that the value belongs to.
// Size is in bytes.
type Ref struct {
	ID    string `json:"id"`
	Count int    `json:"count"`
	Size  int    `json:"size"`
}

// piece holds bytes as base64: JSON storage keeps values, not the order of members
// or the spelling of numbers. NUL, which no driver takes, cannot occur either.
type piece struct {
	Data []byte `json:"data"`
}

var parts = account.Collection[piece]{Name: "pieces"}

// pieceBytes is 683 KiB as base64, below the 1 MiB of a record.
const pieceBytes = 512 << 10

func pieceID(id string, n int) string { return fmt.Sprintf("%s/%06d", id, n) }

// Put writes data with the commit, under an id that the org has not used before.
func Put(tx *account.Tx, org, id string, data []byte) Ref {
	ref := Ref{ID: id, Size: len(data)}
	for rest := data; len(rest) > 0; ref.Count++ {
		n := min(len(rest), pieceBytes)
		parts.Put(tx, org, pieceID(id, ref.Count), piece{rest[:n]}, 0)
		rest = rest[n:]
	}
	return ref
}

// Get reads a value. One that is not all there is an internal error, never a
// shorter value.
func Get(ctx context.Context, s *account.Store, org string, ref Ref) ([]byte, error) {
	data := make([]byte, 0, ref.Size)
	for n := range ref.Count {
		row, found, err := parts.Get(ctx, s, org, pieceID(ref.ID, n))
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fault.Internal(fmt.Errorf("piece %d of %s is missing", n, ref.ID))
		}
		data = append(data, row.Value.Data...)
	}
	if len(data) != ref.Size {
		return nil, fault.Internal(fmt.Errorf("%s has %d bytes, not %d", ref.ID, len(data), ref.Size))
	}
	return data, nil
}

// Delete removes a value with the commit.
func Delete(ctx context.Context, tx *account.Tx, s *account.Store, org string, ref Ref) error {
	for n := range ref.Count {
		row, found, err := parts.Get(ctx, s, org, pieceID(ref.ID, n))
		if err != nil {
			return err
		}
		if found {
			parts.Delete(tx, org, row.ID, row.Version)
		}
	}
	return nil
}
