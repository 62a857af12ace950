package service

import (
	"context"
	"sync"
	"time"

	"github.com/authzhost/authz/host/service/account"
)

// touchEvery is how often, in milliseconds, it is noted that a credential or a
// seat was used.
const touchEvery = int64(time.Minute / time.Millisecond)

const (
	touchQueue   = 1024
	touchTimeout = 5 * time.Second
)

// toucher notes uses off the request path, in one goroutine. A full queue drops
// notes: they say when, never whether.
type toucher struct {
	accounts *account.Store
	queue    chan func(context.Context) error
	done     sync.WaitGroup
	stop     context.CancelFunc
}

func startToucher(accounts *account.Store) *toucher {
	ctx, stop := context.WithCancel(context.Background())
	t := &toucher{accounts: accounts, queue: make(chan func(context.Context) error, touchQueue), stop: stop}
	t.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case note := <-t.queue:
				limited, end := context.WithTimeout(ctx, touchTimeout)
				_ = note(limited) // the next use notes it again
				end()
			}
		}
	})
	return t
}

func (t *toucher) close() {
	t.stop()
	t.done.Wait()
}

func (t *toucher) add(note func(context.Context) error) {
	select {
	case t.queue <- note:
	default:
	}
}

func due(last *int64, now int64) bool { return last == nil || now-*last >= touchEvery }

func (t *toucher) key(org string, key account.APIKey, now int64) {
	if !due(key.LastUsedAt, now) {
		return
	}
	t.add(func(ctx context.Context) error {
		row, found, err := account.Keys.Get(ctx, t.accounts, org, key.ID)
		if err != nil || !found || !due(row.Value.LastUsedAt, now) {
			return err
		}
		row.Value.LastUsedAt = &now
		tx := t.accounts.Begin(ctx)
		account.Keys.Put(tx, org, row.ID, row.Value, row.Version)
		return tx.Commit()
	})
}

func (t *toucher) seat(org string, seat account.Seat, now int64) {
	if !due(seat.LastSeenAt, now) {
		return
	}
	t.add(func(ctx context.Context) error {
		row, found, err := account.Seats.Get(ctx, t.accounts, org, seat.UserID)
		if err != nil || !found || !due(row.Value.LastSeenAt, now) {
			return err
		}
		row.Value.LastSeenAt = &now
		tx := t.accounts.Begin(ctx)
		account.Seats.Put(tx, org, row.ID, row.Value, row.Version)
		return tx.Commit()
	})
}
