package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func TestWhateverABuildWritesMayBePublished(t *testing.T) {
	type built struct {
		Expect struct {
			OK struct{ ImportManifest json.RawMessage }
		}
	}
	checked := 0
	for _, c := range vectors.Cases[built](t, "catalog-build.jsonl") {
		raw := c.Expect.OK.ImportManifest
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		checked++
		if _, err := catalog.CheckManifest(raw); err != nil {
			t.Errorf("%v: %s", err, raw)
		}
	}
	if checked == 0 {
		t.Fatal("no manifest was checked")
	}
}

func TestAPublishedManifestTellsWhatItIsAbout(t *testing.T) {
	for _, c := range []struct {
		imports string
		want    []string
	}{
		{``, []string{}},
		{`{"namespace":"zoom","enumerated":false,"entries":[{"pattern":"zoom.*","scopes":[]}],"keys":["zoom.a"],"regions":["zoom.*"],"strict":true},
			{"namespace":"meet","from":"@meet/authz","enumerated":true,"entries":[{"pattern":"meet.a","scopes":["docs.f"]}],"keys":["meet.a"],"regions":[]}`, []string{"zoom", "meet"}},
	} {
		got, err := catalog.CheckManifest(json.RawMessage(`{"formatVersion":1.0,"namespace":"docs","imports":[` + c.imports + `],"later":null}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(catalog.ManifestHead{Namespace: "docs", Imported: c.want}, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestManifestsThatMayNotBePublished(t *testing.T) {
	const meet = `{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","enumerated":false,"entries":[{"pattern":"meet.*","scopes":[]}],"keys":["meet.a"],"regions":["meet.*"]}]}`
	if _, err := catalog.CheckManifest(json.RawMessage(meet)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ manifest, old, new, want string }{
		"no JSON":                {manifest: `{`, want: "manifest must be an object"},
		"a list":                 {manifest: `[]`, want: "manifest must be an object"},
		"no format":              {manifest: `{}`, want: "unknown import manifest format null"},
		"the format comes first": {manifest: `{"formatVersion":"1","imports":7}`, want: `unknown import manifest format "1"`},
		"a member twice":         {old: `"imports"`, new: `"imports":[],"imports"`, want: "manifest.imports is given more than once"},
		"no namespace":           {old: `"namespace":"docs",`, want: "manifest.namespace must be a single valid segment"},
		"a namespace of two":     {old: `"docs"`, new: `"docs.x"`, want: "manifest.namespace must be a single valid segment"},
		"no imports":             {manifest: `{"formatVersion":1,"namespace":"docs","imports":null}`, want: "manifest.imports must be an array"},
		"an import of no object": {old: `"imports":[`, new: `"imports":[7,`, want: "manifest.imports: every import needs a string namespace"},
		"the own namespace":      {old: `"namespace":"meet"`, new: `"namespace":"docs"`, want: `manifest declares an import of "docs", which is the publishing application's own namespace`},
		"a namespace repeated": {old: `"imports":[`, new: `"imports":[{"namespace":"meet","enumerated":false,"entries":[],"keys":[],"regions":[]},`,
			want: `manifest.imports names "meet" more than once`},
		"the built-in namespace": {old: `"namespace":"meet"`, new: `"namespace":"authz_internal"`, want: "authz_internal is reserved"},
		"no segment":             {old: `"namespace":"meet"`, new: `"namespace":"me et"`, want: "an imported namespace is a single valid segment"},
		"from of another type":   {old: `"enumerated"`, new: `"from":5,"enumerated"`, want: "manifest.imports.meet.from must be a string"},
		"no enumerated":          {old: `"enumerated":false,`, want: "manifest.imports.meet.enumerated must be a boolean"},
		"strict of another type": {old: `"enumerated"`, new: `"strict":"no","enumerated"`, want: "manifest.imports.meet.strict must be a boolean"},
		"a member of one twice":  {old: `"enumerated"`, new: `"keys":[],"enumerated"`, want: "manifest.imports.meet.keys is given more than once"},
		"no entries":             {old: `"entries":[{"pattern":"meet.*","scopes":[]}],`, want: "manifest.imports.meet.entries must be an array"},
		"an entry of no pattern": {old: `"pattern":"meet.*",`, want: "every entry needs a string pattern"},
		"an entry of no scopes":  {old: `,"scopes":[]`, want: `the scopes of "meet.*" must be an array of strings`},
		"scopes of numbers":      {old: `"scopes":[]`, new: `"scopes":[5]`, want: `the scopes of "meet.*" must be an array of strings`},
		"a bare star":            {old: `"pattern":"meet.*"`, new: `"pattern":"*"`, want: `never the bare "*"`},
		"an entry elsewhere":     {old: `"pattern":"meet.*"`, new: `"pattern":"zoom.*"`, want: "is not under the imported namespace"},
		"an entry twice":         {old: `"entries":[`, new: `"entries":[{"pattern":"meet.*","scopes":[]},`, want: `manifest.imports.meet.entries: "meet.*": is given more than once`},
		"no keys":                {old: `"keys":["meet.a"],`, want: "manifest.imports.meet.keys must be an array of strings"},
		"a key that is none":     {old: `"meet.a"`, new: `"meet.b.*"`, want: `manifest.imports.meet.keys: "meet.b.*"`},
		"a key elsewhere":        {old: `"meet.a"`, new: `"zoom.a"`, want: "is not under the imported namespace"},
		"a key twice":            {old: `"meet.a"`, new: `"meet.a","meet.a"`, want: "is given more than once"},
		"no regions":             {old: `,"regions":["meet.*"]`, want: "manifest.imports.meet.regions must be an array of strings"},
		"a region of one key":    {old: `"regions":["meet.*"]`, new: `"regions":["meet.a"]`, want: "a region is a wildcard"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := c.manifest
			if manifest == "" {
				if manifest = strings.Replace(meet, c.old, c.new, 1); manifest == meet {
					t.Fatal("the case changes nothing")
				}
			}
			_, err := catalog.CheckManifest(json.RawMessage(manifest))
			if authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
