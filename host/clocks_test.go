package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// skewedPlugin is a driver whose database has a clock that runs ahead.
func skewedPlugin(version string) plugin.Plugin {
	return plugin.Plugin{Name: "skewed", Version: version, Storage: plugin.StorageKind{Capabilities: storage.AllCapabilities,
		Configure: func(context.Context, map[string]any) (storage.Driver, error) {
			return skewedDriver{memory.New(memory.Options{})}, nil
		}}}
}

type skewedDriver struct{ storage.Driver }

func (d skewedDriver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	return skewedStore{s}, nil
}

type skewedStore struct{ storage.Store }

func (skewedStore) Health(context.Context) (storage.Health, error) {
	return storage.Health{ClockAhead: new(7500 * time.Millisecond)}, nil
}

func TestADatabaseWhoseClockDiffersIsTold(t *testing.T) {
	cfg := configure(t, "")
	edit(cfg, func(p *config.Plugin) { p.Plugin = "skewed" })
	h, log, err := tryServe(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{
		"/readyz?verbose=1": `{"name":"clock.docs","ok":false,"optional":true,"message":"the database's clock is 7.5s ahead of this host's`,
		"/metrics":          `authz_storage_clock_ahead_seconds{app="docs"} 7.5`,
	} {
		eventually(t, want, func() bool {
			_, text := opsPage(t, h, page)
			return strings.Contains(text, want)
		})
	}
	if !h.Ready() {
		t.Error("clocks keep nobody from their answers")
	}
	if got := strings.Count(log.String(), "the database's clock is 7.5s ahead"); got != 1 {
		t.Errorf("logged %d times", got)
	}
}
