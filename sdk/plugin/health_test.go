package plugin_test

import (
	"context"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// ailing is a store that tells how its database is.
type ailing struct {
	storage.Store
	health storage.Health
	err    error
}

func (s *ailing) Health(context.Context) (storage.Health, error) { return s.health, s.err }

func ailingStore(t *testing.T, health storage.Health, err error) storage.HealthReporter {
	t.Helper()
	d := &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store {
		return &ailing{Store: s, health: health, err: err}
	}}
	return openStore(t, bridged(t, d), "docs").(storage.HealthReporter)
}

func TestHealthCrosses(t *testing.T) {
	if got, err := ailingStore(t, storage.Health{}, nil).Health(t.Context()); err != nil || got.ClockAhead != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, ahead := range []time.Duration{0, 7 * time.Second, -time.Hour} {
		if got, err := ailingStore(t, storage.Health{ClockAhead: &ahead}, nil).Health(t.Context()); err != nil || got.ClockAhead == nil || *got.ClockAhead != ahead {
			t.Errorf("%v: %+v, %v", ahead, got, err)
		}
	}
	_, err := ailingStore(t, storage.Health{}, storage.Lost(authz.OutcomeNotApplied, nil, "the file is gone")).Health(t.Context())
	if !storage.IsLost(err) {
		t.Errorf("%v, want lost", err)
	}
	_, err = ailingStore(t, storage.Health{}, storage.Unavailable("", nil, "no answer")).Health(t.Context())
	if storage.CodeOf(err) != storage.CodeUnavailable || storage.IsLost(err) {
		t.Errorf("%v, want unavailable and not lost", err)
	}
	_, err = memoryStore(t).(storage.HealthReporter).Health(t.Context())
	if storage.CodeOf(err) != storage.CodeUnsupported {
		t.Errorf("a driver that does not tell: %v", err)
	}
}
