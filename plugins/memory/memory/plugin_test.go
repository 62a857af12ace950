package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
)

func TestALeaseIsLongEnoughToBeRenewed(t *testing.T) {
	for _, lease := range []time.Duration{-time.Second, 0, time.Microsecond, 49 * time.Millisecond} {
		driver, err := memory.Plugin("").Storage.Configure(t.Context(), map[string]any{"lease": lease})
		var refusal *plugin.ConfigError
		if !errors.As(err, &refusal) || refusal.Field != "lease" {
			t.Errorf("%v: %v, %v", lease, driver, err)
		}
	}
}
