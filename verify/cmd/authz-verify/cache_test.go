package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
)

// TestEveryInputChangesTheAnswer changes each thing that an answer depends on, with
// answers of before in the cache, and wants what a run without a cache says.
func TestEveryInputChangesTheAnswer(t *testing.T) {
	manifest := `{"formatVersion":1,"namespace":"zoom","imports":[{"namespace":"crm","enumerated":true,"entries":[{"pattern":"crm.deals.read","scopes":[]}],"keys":["crm.deals.read"],"regions":[]}]}`
	owner := `{"formatVersion":1,"namespace":"crm","namespaces":["crm"],"leaves":[{"key":"crm.deals.read"},{"key":"crm.deals.rated"}]}`
	settings := `{"catalog":"catalog.json","importManifest":"manifest.json","imports":{"crm":"crm.json"}}`
	with := func(fields string) string { return strings.Replace(settings, "{", "{"+fields+",", 1) }
	source := bothKeys + "can(\"crm.deals.read\"); mayI(\"zoom.rooms.raed\"); can(\"crm.deals.rate\"); can(\"sales.x.y\")\n" +
		"export async function GET() { SECRET }\n"
	steps := []struct{ what, file, text string }{
		{"a source", "src/a.ts", source + "can(\"zoom.rooms.nope\")\n"},
		{"a source again", "src/a.ts", source},
		{"a source's directive", "src/a.ts", "\"use server\"\n" + source},
		{"another source", "src/b.ts", "can(\"zoom.rooms.nope\")\n"},
		{"an ignored source", "src/b.ts", "// authz-verify-ignore-file because\ncan(\"zoom.rooms.nope\")\n"},
		{"the catalog", "catalog.json", strings.Replace(zoom, "zoom.rooms.read", "zoom.rooms.rated", 1)},
		{"a condition", "catalog.json", strings.Replace(zoom, `"zoom.rooms.read"`, `"zoom.rooms.read","requiresCondition":true`, 1)},
		{"the manifest", "manifest.json", strings.ReplaceAll(manifest, "crm.deals.read", "crm.deals.write")},
		{"an owner's document", "crm.json", strings.ReplaceAll(owner, "crm.deals.rated", "crm.deals.rates")},
		{"gateNames", "authz-verify.config.json", with(`"gateNames":["mayI"]`)},
		{"visibilityNames", "authz-verify.config.json", with(`"visibilityNames":["mayI"]`)},
		{"serverFilePatterns", "authz-verify.config.json", with(`"serverFilePatterns":["src/a"]`)},
		{"implicitImports", "authz-verify.config.json", with(`"implicitImports":"off"`)},
		{"importSource", "authz-verify.config.json", with(`"importSource":"none"`)},
		{"implicitImportAllow", "authz-verify.config.json", with(`"implicitImportAllow":["sales"]`)},
		{"exclude", "authz-verify.config.json", with(`"exclude":["a.ts"]`)},
		{"include", "authz-verify.config.json", with(`"include":["lib"]`)},
	}
	start := map[string]string{"src/a.ts": source, "src/b.ts": "", "src/page.tsx": "\"use client\"\nSECRET\n", "lib/c.ts": "can(\"zoom.rooms.x\")\n",
		"manifest.json": manifest, "crm.json": owner, "authz-verify.config.json": settings}
	project(t, start)
	start["catalog.json"] = zoom
	before := answerOf(t)
	for _, step := range append(steps, struct{ what, file, text string }{"forbidClientIdentifiers", "authz-verify.config.json", with(`"forbidClientIdentifiers":["SECRET"]`)}) {
		for file, text := range start {
			write(t, file, text)
		}
		if first := answerOf(t, "--cache", "kept"); first != before {
			t.Fatalf("%s: the start is answered\n%s\nbefore it was\n%s", step.what, first, before)
		}
		write(t, step.file, step.text)
		want := answerOf(t)
		for range 2 { // once for the change, once from what was kept
			if got := answerOf(t, "--cache", "kept"); got != want {
				t.Errorf("%s: answer with a cache\n%s\nwithout\n%s", step.what, got, want)
			}
		}
		if want == before && step.text != start[step.file] {
			t.Errorf("%s: changes nothing, so this proves nothing", step.what)
		}
	}
}

func answerOf(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := call(t, append([]string{"--format", "json"}, args...)...)
	if status == exitFailed || stderr != "" {
		t.Fatalf("exit %d: %s", status, stderr)
	}
	return stdout
}

func TestUnchangedFilesAreNotScannedAgain(t *testing.T) {
	project(t, nil)
	write(t, "src/a.ts", "1")
	write(t, "src/b.ts", "2")
	c, _, err := config.Load("authz-verify.config.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := load(c)
	if err != nil {
		t.Fatal(err)
	}
	scans := func() (scanned []string) {
		m, err := remember("kept", s)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"src/a.ts", "src/b.ts"} {
			r, err := m.around(file, func() (verify.FileReport, error) {
				content, err := m.read(file)
				scanned = append(scanned, file+"="+string(content))
				return verify.FileReport{File: file, Keys: []string{string(content)}}, err
			})
			content, _ := os.ReadFile(file)
			if err != nil || len(r.Keys) != 1 || r.Keys[0] != string(content) {
				t.Errorf("%s: %+v %v", file, r, err)
			}
		}
		if err := m.keep(); err != nil {
			t.Fatal(err)
		}
		return scanned
	}
	for i, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "src/a.ts=1 src/b.ts=2"},
		{func() {}, ""},
		{func() { write(t, "src/b.ts", "3") }, "src/b.ts=3"},
		{func() { write(t, "src/b.ts", "2") }, "src/b.ts=2"},
		{func() { damage(t) }, "src/a.ts=1 src/b.ts=2"},
		{func() {}, ""},
		{func() { s.config.GateNames = []string{"x"} }, "src/a.ts=1 src/b.ts=2"},
	} {
		step.change()
		if got := strings.Join(scans(), " "); got != step.want {
			t.Errorf("step %d: scanned %q, want %q", i, got, step.want)
		}
	}
}

func TestAnOversizedSourceIsNotReadForTheCache(t *testing.T) {
	project(t, map[string]string{"src/huge.ts": ""})
	if err := os.Truncate("src/huge.ts", verify.MaxSourceBytes+1); err != nil {
		t.Fatal(err)
	}
	expectFailed(t, "authz-verify: cannot read source src/huge.ts: larger than 16 MiB", "--cache", "kept")
	m := &memory{reading: map[string][]byte{}}
	if content, err := m.read("src/huge.ts"); err == nil {
		t.Errorf("%d bytes were read", len(content))
	}
}

// damage flips a bit in the middle of each memory.
func damage(t *testing.T) {
	t.Helper()
	kept, err := filepath.Glob("kept/*" + memorySuffix)
	if err != nil || len(kept) == 0 {
		t.Fatal("nothing was kept", err)
	}
	for _, path := range kept {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)/2] ^= 1
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACacheKeepsABoundedNumberOfMemoriesAndNothingOfOthersIsRemoved(t *testing.T) {
	project(t, map[string]string{"kept/mine.txt": "x"})
	for i := range keptMemories + 3 {
		write(t, "authz-verify.config.json", `{"catalog":"catalog.json","gateNames":["g`+strings.Repeat("x", i)+`"]}`)
		answerOf(t, "--cache", "kept")
	}
	kept, err := filepath.Glob("kept/*" + memorySuffix)
	if err != nil || len(kept) != keptMemories {
		t.Errorf("%d memories, want %d", len(kept), keptMemories)
	}
	if _, err := os.Stat("kept/mine.txt"); err != nil {
		t.Error(err)
	}
}

func TestWithoutACacheNothingIsWritten(t *testing.T) {
	project(t, map[string]string{"src/a.ts": bothKeys})
	before, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	answerOf(t)
	if after, _ := filepath.Glob("*"); len(after) != len(before) {
		t.Errorf("before %v, after %v", before, after)
	}
	write(t, "file", "")
	expectFailed(t, "authz-verify: cannot use the cache file/below: ", "--cache", "file/below")
}
