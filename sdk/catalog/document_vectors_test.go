package catalog_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/catalog"
)

type documentCase struct {
	Document  json.RawMessage            `json:"document"`
	Imports   json.RawMessage            `json:"imports"`
	Documents map[string]json.RawMessage `json:"documents"`
	Tag       string                     `json:"tag"`
	Expect    expectation[documentFacts] `json:"expect"`
}

type documentFacts struct {
	Content
	ScopeTypes  []string         `json:"scopeTypes"`
	Depth       any              `json:"depth"`
	SoD         []string         `json:"sod"`
	OpenRegions []catalog.Region `json:"openRegions"`
	Probes      []documentProbe  `json:"probes"`
}

type documentProbe struct {
	Pattern string            `json:"pattern"`
	Known   bool              `json:"known"`
	HasKey  *bool             `json:"hasKey"`
	Origin  catalog.KeyOrigin `json:"origin"`
}

func TestVectorsCatalogDocument(t *testing.T) {
	vectors.Replay(t, "catalog-document.jsonl", nil, func(t *testing.T, c documentCase) {
		built, err := catalog.FromDocument(c.Document, catalog.DocumentOptions{Imports: c.Imports, Documents: c.Documents})
		want, ok := c.Expect.facts(t, err)
		if !ok {
			return
		}
		got := documentFacts{Content: contentOf(built), Depth: float64(built.Conventions().Depth)}
		if built.Conventions().AnyDepth {
			got.Depth = "any"
		}
		for _, s := range built.ScopeTypes() {
			got.ScopeTypes = append(got.ScopeTypes, s.Type)
		}
		slices.Sort(got.ScopeTypes)
		for _, s := range built.SoD() {
			got.SoD = append(got.SoD, s.ID)
		}
		for _, r := range built.Regions() {
			got.OpenRegions = append(got.OpenRegions, catalog.Region{Pattern: r.Pattern, Scopes: r.Scopes, Strict: r.Strict})
		}
		for _, p := range want.Probes {
			probed := documentProbe{Pattern: p.Pattern, Known: built.IsKnownPattern(p.Pattern)}
			if p.HasKey != nil {
				has := built.HasKey(p.Pattern)
				probed.HasKey, probed.Origin = &has, built.KeyOrigin(p.Pattern)
			}
			got.Probes = append(got.Probes, probed)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if c.Tag == "round trip" {
			if diff := cmp.Diff(value(t, string(c.Document)), value(t, document(t, built))); diff != "" {
				t.Errorf("written again (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(value(t, string(c.Imports)), value(t, manifest(t, built))); diff != "" {
				t.Errorf("written again (-want +got)\n%s", diff)
			}
		}
	})
}
