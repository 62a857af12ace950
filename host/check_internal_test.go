package host

import (
	"slices"
	"testing"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/plugin"
)

// TestWhatADriverLacksIsFoundBeforeItsStoreIsOpened by what it says of itself.
func TestWhatADriverLacksIsFoundBeforeItsStoreIsOpened(t *testing.T) {
	on := true
	cfg := &config.Config{
		Applications: map[string]config.Application{"docs": {
			Storage: config.Storage{Driver: "main"}, Metrics: &config.Metrics{}, Ancestry: config.Ancestry{Kind: config.AncestryStored},
			Events: config.Events{Persist: &on},
		}},
		Service: &config.Service{Storage: config.ServiceStorage{Driver: "main"}},
	}
	faults := func(capabilities ...string) (found []string) {
		c := pluginCheck{cfg: cfg, described: map[string]plugin.Description{
			"main": {Name: "bare", Kinds: []plugin.Kind{{Name: plugin.KindStorage, Capabilities: capabilities}}}}}
		c.roles()
		for _, p := range c.problems {
			found = append(found, p.String())
		}
		return found
	}
	want := []string{
		`applications.docs.metrics: the driver of main lacks the capability "metrics", which stored usage needs: leave the section out, or choose another driver`,
		`applications.docs.ancestry.kind: the driver of main lacks the capability "ancestry", which stored ancestry needs: choose another driver`,
		`applications.docs.events.persist: the driver of main lacks the capability "events", which a stored event log needs: leave the key out, or choose another driver`,
		`service.storage.driver: the driver of main lacks the capability "records", which account data is made of: choose another driver`,
	}
	if got := faults(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := faults("metrics", "ancestry", "events", "records"); len(got) > 0 {
		t.Errorf("nothing is lacking: %q", got)
	}
}
