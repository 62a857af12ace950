package verify

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/catalog"
)

func TestVocabularyThatNothingReachesIsReported(t *testing.T) {
	in, err := catalog.ParseJSON([]byte(`{
		"namespaces": ["docs"],
		"permissions": {"docs.b.read": true, "docs.a.read": true, "docs.a.doIt": true},
		"imports": {
			"zoom": {"permissions": {"zoom.rooms.*": true, "zoom.host": true, "zoom.meetings.*": true}},
			"meet": {"permissions": {"meet.rooms.*": true}, "strict": true}
		},
		"navigation": [{"label": "A", "href": "/a", "permission": ["docs.a.read", "docs.gone.read"], "children": [{"label": "B", "href": "/b", "permission": "zoom.rooms.x.*"}]},
			{"label": "C", "permission": ""}, {"label": "D", "permission": [""]}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	built, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		files          []FileReport
		keys, patterns []string
		unreferenced   []string
	}{
		{"navigation only", nil, []string{"docs.a.read"}, nil,
			[]string{`"docs.a.doIt" is declared`, `"docs.b.read" is declared`, `"zoom.host" is imported`, `"zoom.meetings.*" is imported`, `"meet.rooms.*" is imported`}},
		{"a key and a pattern reach a region", []FileReport{{Keys: []string{"zoom.meetings.read"}, Patterns: []string{"meet.rooms.x.*"}}},
			[]string{"docs.a.read", "zoom.meetings.read"}, []string{"meet.rooms.x.*"},
			[]string{`"docs.a.doIt" is declared`, `"docs.b.read" is declared`, `"zoom.host" is imported`}},
		{"a group", []FileReport{{Patterns: []string{"docs.a.*"}}, {Patterns: []string{"docs.a.*"}, Keys: []string{"zoom.host"}}},
			[]string{"docs.a.doIt", "docs.a.read", "zoom.host"}, []string{"docs.a.*"},
			[]string{`"docs.b.read" is declared`, `"zoom.meetings.*" is imported`, `"meet.rooms.*" is imported`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Conclude(built, c.files)
			found, last, lint := []string{}, RuleUnreferencedLeaf, 0
			for _, f := range r.Issues {
				if f.File != CatalogFile || f.Line != 0 || last == RuleCatalog && f.Rule != last {
					t.Errorf("%+v out of place", f)
				}
				last = f.Rule
				var what, is, how string
				switch _, _ = fmt.Sscan(f.Message, &what, &is, &how); f.Rule {
				case RuleCatalog:
					lint++
				default:
					found = append(found, what+" "+is+" "+how)
				}
			}
			if diff := cmp.Diff(c.unreferenced, found); diff != "" {
				t.Errorf("unreferenced (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.keys, r.ReferencedKeys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			want := []string{"docs.a.read", "docs.gone.read", "zoom.rooms.x.*"}
			for _, p := range c.patterns {
				want = append([]string{p}, want...)
			}
			if diff := cmp.Diff(sorted(setOf(want)), r.ReferencedPatterns); diff != "" {
				t.Errorf("patterns (-want +got):\n%s", diff)
			}
			// One of a key's name, one of a navigation entry.
			if lint != len(catalog.Lint(built)) || lint < 2 {
				t.Errorf("%d lint issues, want %d", lint, len(catalog.Lint(built)))
			}
			if r.ErrorCount+r.WarningCount != len(r.Issues) {
				t.Errorf("%d errors and %d warnings of %d issues", r.ErrorCount, r.WarningCount, len(r.Issues))
			}
		})
	}
}
