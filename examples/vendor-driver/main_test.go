package main

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/plugin"
)

func TestALeaseIsLongerThanZero(t *testing.T) {
	for _, lease := range []time.Duration{0, -time.Second} {
		driver, err := configure(t.Context(), map[string]any{"path": filepath.Join(t.TempDir(), "authz.db"), "lease": lease})
		var refusal *plugin.ConfigError
		if !errors.As(err, &refusal) || refusal.Field != "lease" {
			t.Errorf("%v: %v, %v", lease, driver, err)
		}
	}
}
