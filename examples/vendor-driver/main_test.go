package main

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

func TestALeaseIsLongEnoughToBeRenewed(t *testing.T) {
	for _, lease := range []time.Duration{-time.Second, 0, time.Microsecond, minLease - 1} {
		driver, err := configure(t.Context(), map[string]any{"path": filepath.Join(t.TempDir(), "authz.db"), "lease": lease})
		var refusal *plugin.ConfigError
		if !errors.As(err, &refusal) || refusal.Field != "lease" {
			t.Errorf("%v: %v, %v", lease, driver, err)
		}
	}
}

func TestAFileThatIsBusyIsNoWrongSetting(t *testing.T) {
	config := map[string]any{"path": filepath.Join(t.TempDir(), "authz.db"), "lease": time.Minute}
	first, err := configure(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if second, err := configure(t.Context(), config); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("%v, %v", second, err)
	}
}
