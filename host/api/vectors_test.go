package api_test

import (
	"encoding/json"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/scripts"
)

func TestVectorsProviderAPI(t *testing.T) {
	vectors.Replay(t, "provider-api.jsonl", nil, func(t *testing.T, c scripts.Wire) {
		o := worldOptions{catalog: string(c.Catalog), scopeParents: c.ScopeParents, orgRoot: c.Options.OrgRoot,
			persist: c.Options.Events.Persist, noStorage: c.WithoutStorage, without: c.DriverWithout,
			hashChain: c.Options.Audit.HashChain, auditOptIn: c.Handler.AuditOptIn}
		given(t, c.Options.SoD, &o.sod)
		if c.Options.Metrics != nil {
			o.metrics = &application.Metrics{}
			given(t, c.Options.Metrics, o.metrics)
		}
		w := newWorld(t, o)
		on := scripts.WireSurface{Surface: scripts.Surface{Provider: w.app, Store: w.store, Now: &w.clock, Heard: scripts.Told(w.app)}}
		on.Send = func(t testing.TB, method, path, body string, authorization ...string) scripts.WireAnswer {
			a := w.send(method, path, body, authorization...)
			return scripts.WireAnswer{Status: a.status, ContentType: a.header.Get("Content-Type"), Body: []byte(a.body)}
		}
		scripts.RunWire(t, c, on)
	})
}

// given decodes an option; an absent one stays.
func given(t *testing.T, raw json.RawMessage, option any) {
	t.Helper()
	if raw == nil {
		return
	}
	if err := json.Unmarshal(raw, option); err != nil {
		t.Fatal(err)
	}
}
