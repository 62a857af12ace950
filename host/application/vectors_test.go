package application_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

func TestVectorsAppWrites(t *testing.T) { replayScripts(t, "app-writes.jsonl") }

func TestVectorsRequests(t *testing.T) { replayScripts(t, "requests.jsonl") }

func replayScripts(t *testing.T, file string) {
	vectors.Replay(t, file, scripts.Script.Covered, func(t *testing.T, s scripts.Script) { scripts.Run(t, s, inProcess(t, s)) })
}

// inProcess is the application itself, over the memory driver.
func inProcess(t *testing.T, s scripts.Script) scripts.Surface {
	t.Helper()
	on := scripts.Surface{Store: openStore(t), Now: &atomic.Int64{}}
	o := application.Options{
		Catalog: buildCatalog(t, s.Catalog), Store: on.Store,
		Ancestry: application.FromParents(func(_ context.Context, scope string) ([]string, error) {
			return s.ScopeParents[scope], nil
		}),
		Clock: on.Now.Load, IDs: scripts.IDs(),
	}
	for option, raw := range s.Options {
		switch option {
		case "orgRoot":
			must(t, json.Unmarshal(raw, &o.OrgRoot))
		case "sod":
			must(t, json.Unmarshal(raw, &o.SoD))
		default:
			t.Fatalf("no application is given the option %s", option)
		}
	}
	app := newApp(t, o)
	on.Provider, on.Local, on.Heard = app, local{app}, scripts.Told(app)
	return on
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
