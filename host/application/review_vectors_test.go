package application_test

import (
	"context"
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

type sodWorld struct {
	vectors.World
	Cases []struct {
		UserIDs *[]string       `json:"userIds"`
		Report  json.RawMessage `json:"report"`
	} `json:"cases"`
}

type entitlementsWorld struct {
	vectors.World
	Cases []struct {
		UserIDs *[]string       `json:"userIds"`
		Export  json.RawMessage `json:"export"`
	} `json:"cases"`
}

// inWorld opens an application on a store that holds the rows of a world; also
// over a driver that leaves the closures to the application.
func inWorld(t *testing.T, w vectors.World) map[string]*application.Application {
	t.Helper()
	store := openStore(t)
	_, err := store.Commit(t.Context(), w.Commit())
	must(t, err)
	open := func(s storage.Store) *application.Application {
		return newApp(t, application.Options{Catalog: buildCatalog(t, w.Catalog), Store: s, Clock: func() int64 { return w.Now },
			Ancestry: application.AncestryFunc(func(_ context.Context, scope string) ([]string, error) { return w.Ancestors(scope), nil })})
	}
	return map[string]*application.Application{
		"the driver expands": open(store),
		"the host expands":   open(lacking.Store(store, storage.CapExpand)),
	}
}

// asVectors is a value in the form of the files.
func asVectors(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	must(t, err)
	return scripts.Decoded(t, raw)
}

func TestVectorsSod(t *testing.T) {
	vectors.Replay(t, "sod.jsonl", nil, func(t *testing.T, w sodWorld) {
		for name, app := range inWorld(t, w.World) {
			for i, c := range w.Cases {
				got := rows(t, app.ListSodViolations(t.Context(), c.UserIDs))
				if diff := gocmp.Diff(scripts.Decoded(t, c.Report), asVectors(t, got)); diff != "" {
					t.Errorf("%s, case %d (-want +got):\n%s", name, i, diff)
				}
				for limit := range 3 {
					if diff := gocmp.Diff(got, sodPages(t, app, provider.ReviewQuery{UserIDs: c.UserIDs, Limit: limit})); diff != "" {
						t.Errorf("%s, case %d, in pages of %d (-whole +pages):\n%s", name, i, limit, diff)
					}
				}
			}
		}
	})
}

func TestVectorsEntitlements(t *testing.T) {
	vectors.Replay(t, "entitlements.jsonl", nil, func(t *testing.T, w entitlementsWorld) {
		for name, app := range inWorld(t, w.World) {
			for i, c := range w.Cases {
				whole := rows(t, app.ExportEntitlements(t.Context(), c.UserIDs))
				for limit := range 3 {
					if diff := gocmp.Diff(whole, entitlementPages(t, app, provider.ReviewQuery{UserIDs: c.UserIDs, Limit: limit}), unexported); diff != "" {
						t.Errorf("%s, case %d, in pages of %d (-whole +pages):\n%s", name, i, limit, diff)
					}
				}
				got := scripts.SortedExport(whole)
				if diff := gocmp.Diff(scripts.Decoded(t, c.Export), asVectors(t, got)); diff != "" {
					t.Errorf("%s, case %d (-want +got):\n%s", name, i, diff)
				}
			}
		}
	})
}

type driftWorld struct {
	Now    int64           `json:"now"`
	From   json.RawMessage `json:"from"`
	To     json.RawMessage `json:"to"`
	Grants []authz.Grant   `json:"grants"`
	Roles  []authz.Role    `json:"roles"`
	Report struct {
		GainedKeys  []string        `json:"gainedKeys"`
		RemovedKeys []string        `json:"removedKeys"`
		Findings    json.RawMessage `json:"findings"`
	} `json:"report"`
}

func TestVectorsDrift(t *testing.T) {
	vectors.Replay(t, "drift.jsonl", nil, func(t *testing.T, w driftWorld) {
		store := openStore(t)
		_, err := store.Commit(t.Context(), vectors.World{Now: w.Now, Grants: w.Grants, Roles: w.Roles}.Commit())
		must(t, err)
		app := newApp(t, application.Options{Store: store, Clock: func() int64 { return w.Now }})
		for _, document := range []json.RawMessage{w.From, w.To} {
			_, err := app.PublishCatalog(t.Context(), document, root)
			must(t, err)
		}
		report, err := app.ListWildcardDrift(t.Context(), 1)
		must(t, err)
		if report.FromVersion != 1 || report.ToVersion != 2 {
			t.Errorf("compared %d with %d", report.FromVersion, report.ToVersion)
		}
		if diff := gocmp.Diff(access.Drift{GainedKeys: w.Report.GainedKeys, RemovedKeys: w.Report.RemovedKeys}, report.Drift, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		for limit := range 3 {
			if diff := gocmp.Diff(rows(t, report.Findings), driftPages(t, app, provider.DriftQuery{SinceVersion: 1, Limit: limit}), unexported); diff != "" {
				t.Errorf("in pages of %d (-whole +pages):\n%s", limit, diff)
			}
		}
		want, got := scripts.Decoded(t, w.Report.Findings), asVectors(t, scripts.NamedFindings(rows(t, report.Findings), "grant", "role"))
		scripts.SortJSON(want)
		scripts.SortJSON(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	})
}
