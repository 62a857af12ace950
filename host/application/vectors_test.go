package application_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

func TestVectorsAppWrites(t *testing.T) { replayScripts(t, "app-writes.jsonl") }

func TestVectorsRequests(t *testing.T) { replayScripts(t, "requests.jsonl") }

func replayScripts(t *testing.T, file string) {
	vectors.Replay(t, file, nil, func(t *testing.T, s scripts.Script) { scripts.Run(t, s, inProcess(t, s)) })
}

// inProcess is the application itself, over the memory driver.
func inProcess(t *testing.T, s scripts.Script) scripts.Surface {
	t.Helper()
	on := scripts.Surface{Store: scripts.Without(t, openStore(t), s.DriverWithout), Now: &atomic.Int64{}}
	o := application.Options{
		Catalog: buildCatalog(t, s.Catalog), Store: on.Store,
		Ancestry: application.FromParents(func(_ context.Context, scope string) ([]string, error) {
			return s.ScopeParents[scope], nil
		}),
		OrgRoot: s.Options.OrgRoot, PersistEvents: s.Options.Events.Persist, HashChain: s.Options.Audit.HashChain,
		Clock: on.Now.Load, IDs: scripts.IDs(),
	}
	if s.Options.SoD != nil {
		must(t, json.Unmarshal(s.Options.SoD, &o.SoD))
	}
	if s.Options.Metrics != nil {
		var written struct{ BucketMs, RetentionMs int64 }
		must(t, json.Unmarshal(s.Options.Metrics, &written))
		millis := func(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
		o.Metrics = &application.Metrics{Bucket: millis(written.BucketMs), Retention: millis(written.RetentionMs)}
	}
	app := newApp(t, o)
	on.Provider, on.Local, on.Heard = app, local{app}, scripts.Told(app)
	asked, err := client.New(client.Options{Provider: app, Catalog: o.Catalog, Clock: o.Clock})
	must(t, err)
	t.Cleanup(asked.Close)
	served := api.ProviderOptions{Application: app, ApplicationID: scripts.WireApplication, AuditOptIn: s.Handler.AuditOptIn,
		Secrets: func() []string { return []string{scripts.WireSecret} }, Evaluator: evaluator{asked}}
	if !s.WithoutStorage {
		served.Storage = app
	}
	handler, err := api.NewProviderHandler(served)
	must(t, err)
	on.Call = func(t testing.TB, op string, body json.RawMessage) scripts.WireAnswer {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/"+op, bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+scripts.WireSecret)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return scripts.WireAnswer{Status: w.Code, ContentType: w.Header().Get("Content-Type"), Body: w.Body.Bytes()}
	}
	return on
}

// evaluator asks a client, as the host does.
type evaluator struct{ *client.Client }

func (e evaluator) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return e.Client.Check(ctx, p, client.Gate{Keys: keys, Scope: scope, Fresh: fresh})
}

// local gives predicates where a script has lists.
type local struct{ *application.Application }

func (l local) ReconcileRows(ctx context.Context, in scripts.Reconciliation) (provider.Reconciled, error) {
	among := func(ids *[]string) provider.Exists {
		if ids == nil {
			return nil
		}
		return func(_ context.Context, id string) (bool, error) { return slices.Contains(*ids, id), nil }
	}
	return l.Application.ReconcileRows(ctx, provider.Reconciliation{UserExists: among(in.Users), OrgExists: among(in.Orgs),
		ScopeExists: among(in.Scopes), Sweep: in.Sweep, Provenance: in.Provenance})
}

func buildCatalog(t testing.TB, raw []byte) *catalog.Catalog {
	t.Helper()
	in, err := catalog.ParseJSON(raw)
	must(t, err)
	c, err := catalog.Build(in)
	must(t, err)
	return c
}
