package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/sdk/storage"
)

// Health tells what is known already, and has the server's clock asked aside.
func (s *store) Health(ctx context.Context) (storage.Health, error) {
	if err := s.usable(ctx); err != nil {
		return storage.Health{}, err
	}
	d := s.driver
	if d.offset.Due() {
		d.aside(d.measureClock)
	}
	return storage.Health{ClockAhead: d.offset.Ahead()}, nil
}

// measureClock leaves out the wait for a connection.
func (d *driver) measureClock(ctx context.Context) {
	_ = d.withConn(ctx, func(c *pgxpool.Conn) error { // it is asked again
		d.offset.Measure(ctx, func(ctx context.Context) (ms int64, err error) {
			err = c.QueryRow(ctx, "select "+clock).Scan(&ms)
			return ms, err
		})
		return nil
	})
}
