package plugin_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/lacking"
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

func ailingStore(t *testing.T, health storage.Health, err error) storage.Store {
	t.Helper()
	d := &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store {
		return &ailing{Store: s, health: health, err: err}
	}}
	return openStore(t, bridged(t, d), "docs")
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
	silent := &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store {
		return lacking.Store(s, storage.CapHealth)
	}}
	_, err = openStore(t, bridged(t, silent), "docs").Health(t.Context())
	if storage.CodeOf(err) != storage.CodeUnsupported {
		t.Errorf("a driver that does not tell: %v", err)
	}
}

// A plugin that was built before renewal and health were capabilities does not declare
// them, and does what it did.
func TestRenewalAndHealthCrossUndeclared(t *testing.T) {
	ahead := 7 * time.Second
	d := &faultyDriver{Driver: memory.New(memory.Options{}), decorate: func(s storage.Store) storage.Store {
		return &undeclared{ailing{Store: s, health: storage.Health{ClockAhead: &ahead}}}
	}}
	s := openStore(t, bridged(t, d), "docs")
	if c := s.Info().Capabilities; c.Has(storage.CapRenewal) || c.Has(storage.CapHealth) || !c.Has(storage.CapWatch) {
		t.Fatalf("declared %v", c)
	}
	if got, err := s.Health(t.Context()); err != nil || got.ClockAhead == nil || *got.ClockAhead != ahead {
		t.Errorf("%+v, %v", got, err)
	}
	before := s.Info().Incarnation
	if renewed, err := s.Renew(t.Context(), before); err != nil || renewed == "" || renewed == before {
		t.Errorf("%q after %q, %v", renewed, before, err)
	}
}

type undeclared struct{ ailing }

func (s *undeclared) Info() storage.StoreInfo {
	info := s.Store.Info()
	info.Capabilities = slices.DeleteFunc(info.Capabilities, func(c storage.Capability) bool {
		return c == storage.CapRenewal || c == storage.CapHealth
	})
	return info
}
