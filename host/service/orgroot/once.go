package orgroot

import (
	"context"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
)

// fresh are the rows that one request has read fresh.
type fresh struct {
	mu   sync.Mutex
	rows map[freshRows]*authz.SubjectAccess
}

type freshRows struct {
	org       string
	principal authz.Principal
}

type freshKey struct{}

// WithOneReading has the gates of one request judge one reading of a principal's
// rows, also where each of them asks for a fresh one. Never longer than a request.
func WithOneReading(ctx context.Context) context.Context {
	return context.WithValue(ctx, freshKey{}, &fresh{rows: map[freshRows]*authz.SubjectAccess{}})
}

// once reads fresh rows unless the request has them.
func once(ctx context.Context, org string, p authz.Principal, read func() (*authz.SubjectAccess, error)) (*authz.SubjectAccess, error) {
	known, _ := ctx.Value(freshKey{}).(*fresh)
	if known == nil {
		return read()
	}
	key := freshRows{org, p}
	known.mu.Lock()
	rows := known.rows[key]
	known.mu.Unlock()
	if rows != nil {
		return rows, nil
	}
	rows, err := read()
	if err == nil {
		known.mu.Lock()
		known.rows[key] = rows
		known.mu.Unlock()
	}
	return rows, err
}
