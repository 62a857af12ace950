package mongo

import (
	"context"

	"github.com/authzhost/authz/sdk/storage"
)

// Health tells what is known already, and has the server's clock asked aside.
func (s *store) Health(ctx context.Context) (storage.Health, error) {
	if err := s.usable(ctx); err != nil {
		return storage.Health{}, err
	}
	clock := s.partition.clock
	if clock.offset.Due() {
		s.partition.aside(func(ctx context.Context) { clock.offset.Measure(ctx, clock.ask) })
	}
	return storage.Health{ClockAhead: clock.offset.Ahead()}, nil
}
