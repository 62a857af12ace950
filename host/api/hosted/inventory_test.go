package hosted

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api/hosted/openapi"
)

// row is an endpoint of the specification's tables: method, path, gate, success, own
// errors, audit and meter.
type row struct{ method, path, gate, success, own, audit string }

// inventory reads the tables (spec: hosted-api §8). A path is relative to the one in
// the title above it, and "…" is the org.
func inventory(t *testing.T) []row {
	t.Helper()
	chapter, err := os.ReadFile("../../../docs/spec/hosted-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(chapter), "\n## 8. ")
	text, _, _ = strings.Cut(text, "\n## 9. ")
	var rows []row
	base := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "### ") {
			base = ""
			if paths := quoted(line); len(paths) > 0 {
				base = strings.TrimSuffix(paths[0], "…")
			}
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		c := strings.Split(line, "|") // empty before the first cell and after the last
		if len(c) != 8 {
			t.Fatalf("a row of %d cells: %s", len(c)-2, line)
		}
		for i := range c {
			c[i] = strings.TrimSpace(c[i])
		}
		method, at, _ := strings.Cut(quoted(c[1])[0], " ")
		rows = append(rows, row{method, path.Join(base, strings.Replace(at, "…", "/orgs/{org}", 1)), c[2], c[4], c[5], c[6]})
	}
	return rows
}

func TestTheTableIsTheInventoryOfTheSpec(t *testing.T) {
	var want, got []string
	for _, r := range inventory(t) {
		want = append(want, r.method+" "+r.path)
	}
	want = append(want, "GET /openapi.json")
	for _, e := range endpoints().list {
		got = append(got, e.Method+" "+e.Path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryRowKeepsItsGateStatusErrorsAndAudit(t *testing.T) {
	byName := map[string]*endpoint{}
	for _, e := range endpoints().list {
		byName[e.Method+" "+e.Path] = e
	}
	for _, r := range inventory(t) {
		e := byName[r.method+" "+r.path]
		if e == nil {
			continue // told by the other test
		}
		name := r.method + " " + r.path
		if want := r.success[:3]; want >= "200" && want <= "399" && want != statusText(e) {
			t.Errorf("%s: success is %s, the chapter says %s", name, statusText(e), r.success)
		}
		codes := e.errors()
		for _, code := range quoted(r.own) {
			known := slices.Contains(codes, code)
			if code == "GraphCycleError" { // a name, which stands beside its code graph_cycle
				continue
			}
			if _, class := classes[code]; !known && (class || strings.ToLower(code) == code) && code != "ok" {
				t.Errorf("%s: may answer %s, which the table does not say (%v)", name, code, codes)
			}
		}
		for _, action := range quoted(r.audit) {
			if strings.Contains(action, ".") && !strings.HasPrefix(action, ".") && !strings.Contains(strings.Join(e.Audit, " "), action) {
				t.Errorf("%s: audits %s, which the table does not say (%v)", name, action, e.Audit)
			}
		}
		if key := e.gateText(); strings.Contains(r.gate, ".") && !mentions(key, quoted(r.gate)) {
			t.Errorf("%s: the gate is %q, the chapter says %s", name, key, r.gate)
		}
	}
}

func statusText(e *endpoint) string {
	return map[int]string{200: "200", 201: "201", 204: "204", 303: "303"}[e.Status]
}

// mentions tells whether the gate's text names the first key of the chapter's,
// whose prefix the chapter may leave out.
func mentions(gate string, keys []string) bool {
	if len(keys) == 0 {
		return true
	}
	key, _, _ := strings.Cut(keys[0], "@")
	return strings.Contains(gate, key)
}

// quoted are the parts of a cell between backticks.
func quoted(cell string) []string {
	var out []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			out = append(out, part)
		}
	}
	return out
}

func TestTheCommittedDescriptionIsCurrent(t *testing.T) {
	fresh, err := Describe()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(fresh, openapi.Document) {
		t.Error("run go generate ./host/api/hosted/openapi")
	}
}

func TestTheDescriptionHoldsTogether(t *testing.T) {
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(openapi.Document, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("openapi is %s", doc.OpenAPI)
	}
	ids := map[string]bool{}
	for at, methods := range doc.Paths {
		for method, op := range methods {
			id, _ := op["operationId"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: operationId %q is empty or taken", method, at, id)
			}
			ids[id] = true
			if s, _ := op["summary"].(string); s == "" {
				t.Errorf("%s %s has no summary", method, at)
			}
		}
	}
	for reference := range strings.SplitSeq(string(openapi.Document), `"$ref": "`) {
		name, ok := strings.CutPrefix(reference, "#/components/schemas/")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, `"`)
		if doc.Components.Schemas[name] == nil {
			t.Errorf("schema %s is referred to and not there", name)
		}
	}
}
