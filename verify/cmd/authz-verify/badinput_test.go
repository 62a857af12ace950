package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABadConfigurationIsExit2WithTheFieldsName(t *testing.T) {
	wrong := map[string]string{
		"catalog": `1`, "include": `"src"`, "exclude": `[1]`, "gateNames": `{}`, "visibilityNames": `[""]`, "serverFilePatterns": `"x"`,
		"forbidClientIdentifiers": `[null]`, "importManifest": `""`, "imports": `[]`, "importSource": `"file"`, "implicitImports": `"warning"`,
		"implicitImportAllow": `true`, "go": `true`,
	}
	for field, value := range wrong {
		project(t, nil)
		write(t, "authz-verify.config.json", `{"catalog":"catalog.json","`+field+`":`+value+`}`)
		if field == "catalog" {
			write(t, "authz-verify.config.json", `{"catalog":`+value+`}`)
		}
		expectFailed(t, `authz-verify: bad config field "`+field+`": `)
		expectFailed(t, `authz-verify: bad config field "`+field+`": `, "--format", "json")
	}
	project(t, nil)
	write(t, "authz-verify.config.json", `{"include":[]}`)
	expectFailed(t, `authz-verify: bad config field "catalog": `)
}

func TestAConfigurationThatCannotBeReadIsNamedWhole(t *testing.T) {
	project(t, map[string]string{"broken.json": `{nope`, "list.json": `[]`})
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gone.json", "broken.json", "list.json", "catalog.json/x"} {
		expectFailed(t, "authz-verify: cannot read config "+filepath.Join(dir, name)+": ", "--config", name)
	}
}

func TestUnknownFieldsAreNotedAndChangeNothing(t *testing.T) {
	project(t, map[string]string{"src/a.ts": bothKeys, "authz-verify.config.json": `{"catalog":"catalog.json","nope\u001b":1,"// x":2}`})
	expectText(t, exitClean, "authz-verify: unknown config field \"nope\\x1b\"\n"+clean1)
	status, stdout, stderr := call(t, "--format=json")
	if status != exitClean || !strings.HasPrefix(stdout, `{"issues":[]`) || stderr != "authz-verify: unknown config field \"nope\\x1b\"\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

func TestABadCatalogIsExit2(t *testing.T) {
	project(t, map[string]string{"broken.json": `{"formatVersion"`, "empty.json": ``, "other.json": `{"formatVersion":2}`, "dir.json/x": ``,
		"many.json": `{"formatVersion":1,"namespace":"zoom","namespaces":["zoom"],"leaves":[{"key":"crm.a.b"},{"key":"zoom.a-b.c"}]}`})
	for path, want := range map[string]string{
		"gone.json":   "authz-verify: cannot read catalog gone.json: no such file or directory\n",
		"broken.json": "authz-verify: cannot read catalog broken.json: not JSON: ",
		"empty.json":  "authz-verify: cannot read catalog empty.json: not JSON: ",
		"dir.json":    "authz-verify: cannot read catalog dir.json: ",
		"other.json":  "authz-verify: invalid catalog other.json\n  - ",
		"many.json":   "authz-verify: invalid catalog many.json\n  - crm.a.b: ",
	} {
		write(t, "c.json", `{"catalog":"`+path+`"}`)
		expectFailed(t, want, "--config", "c.json")
		expectFailed(t, strings.Replace(want, "authz-verify:", "authz-verify codegen:", 1), "codegen", "--catalog", path, "--out", "out.ts")
		if _, err := os.Stat("out.ts"); err == nil {
			t.Errorf("%s: codegen wrote", path)
		}
	}
	_, _, stderr := call(t, "codegen", "--catalog", "many.json")
	if strings.Count(stderr, "\n  - ") != 2 {
		t.Errorf("not every issue has a line: %q", stderr)
	}
}

func TestBadImportsAreExit2(t *testing.T) {
	manifest := `{"formatVersion":1,"namespace":"zoom","imports":[{"namespace":"crm","enumerated":true,"entries":[{"pattern":"crm.a.b","scopes":[]}],"keys":["crm.a.b"],"regions":[]}]}`
	project(t, map[string]string{"broken.json": `{`, "manifest.json": manifest, "foreign.json": strings.Replace(manifest, `"zoom"`, `"docs"`, 1),
		"crm.json": `{"formatVersion":1,"namespace":"crm","namespaces":["crm"],"leaves":[{"key":"crm.a.b"}]}`, "src/a.ts": bothKeys + "can(\"crm.a.b\")\n"})
	for _, fields := range []string{
		`"importManifest":"gone.json"`, `"importManifest":"broken.json"`, `"importManifest":"foreign.json"`,
		`"imports":{"crm":"gone.json"}`, `"imports":{"crm":"broken.json"}`, `"imports":{"crm":"manifest.json"}`,
		`"imports":{"crm":"catalog.json"}`, `"importManifest":"manifest.json","imports":{"sales":"crm.json"}`,
	} {
		write(t, "authz-verify.config.json", `{"catalog":"catalog.json",`+fields+`}`)
		expectFailed(t, "authz-verify: cannot read an imported catalog: ")
	}
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","importManifest":"manifest.json","imports":{"crm":"crm.json"}}`)
	expectText(t, exitClean, clean1)
}

func TestServerFilePatternsMustBeRE2(t *testing.T) {
	project(t, nil)
	for pattern, construct := range map[string]string{`(`: "missing closing )", `[`: "missing closing ]", `(?<n`: "invalid named capture",
		`(?=x)`: "lookaround `(?=` is not supported", `(?!x)`: "lookaround `(?!`", `(?<=x)`: "lookaround `(?<=`", `(?<!x)`: "lookaround `(?<!`",
		`(a)\\1`: "backreference `\\1`", `(?<n>a)\\k<n>`: "backreference `\\k`"} {
		write(t, "authz-verify.config.json", `{"catalog":"catalog.json","serverFilePatterns":["ok","`+pattern+`"]}`)
		expectFailed(t, "authz-verify: bad serverFilePatterns entry: ")
		expectFailed(t, construct)
		write(t, "authz-verify.config.json", `{"catalog":"catalog.json","go":{"clientFilePatterns":["`+pattern+`"]}}`)
		expectFailed(t, construct)
	}
}

func TestSourcesThatCannotBeReadAreExit2(t *testing.T) {
	project(t, map[string]string{"src/a.ts": bothKeys})
	write(t, "src/huge.ts", strings.Repeat("x;", 25<<20))
	for _, args := range [][]string{nil, {"--cache", "kept"}} {
		expectFailed(t, "authz-verify: cannot read source src/huge.ts: ", args...)
	}
	if err := os.Remove("src/huge.ts"); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		return // root may read every file
	}
	write(t, "src/closed.ts", "")
	if err := os.Chmod("src/closed.ts", 0); err != nil {
		t.Fatal(err)
	}
	expectFailed(t, "authz-verify: cannot read source src/closed.ts: permission denied")
}

func TestBinaryFilesAndCyclicLinksAreScanned(t *testing.T) {
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(i * 7919 >> 3)
	}
	project(t, map[string]string{"src/a.ts": bothKeys, "src/noise.ts": string(noise), "src/zeros.tsx": strings.Repeat("\x00", 1<<12)})
	for at, to := range map[string]string{"src/up": "..", "src/self.ts": "self.ts", "src/here": "."} {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	expectText(t, exitClean, strings.Replace(clean1, "1 file", "3 file", 1))
}

func TestBadCommandLinesAreExit2(t *testing.T) {
	project(t, map[string]string{"src/a.ts": bothKeys})
	for _, c := range []struct{ args, want string }{
		{"--nope", "authz-verify: unknown flag --nope\n"},
		{"-x", "authz-verify: unknown flag -x\n"},
		{"--", `authz-verify: unexpected argument "--"`},
		{"src", `authz-verify: unexpected argument "src"`},
		{"--config authz-verify.config.json codegen", `unexpected argument "codegen"`},
		{"--config=", "--config must not be empty"},
		{"--format", "--format needs a value"},
		{"--format xml", "--format must be text, json or sarif"},
		{"--watch=1", "--watch takes no value"},
		{"--watch --format sarif", "--watch"},
		{"--changed-since", "--changed-since needs a value"},
		{"--cache=", "--cache must not be empty"},
		{"--out x", "unknown flag --out"},
		{"codegen", "authz-verify codegen: --catalog <catalog-document.json> is required\n"},
		{"codegen --out x", "--catalog <catalog-document.json> is required\n"},
		{"codegen --catalog", "authz-verify codegen: --catalog needs a value\n"},
		{"codegen --catalog catalog.json x", `unexpected argument "x"`},
		{"codegen --catalog catalog.json --format json", "unknown flag --format"},
		{"codegen --catalog catalog.json --lang rust", "--lang must be ts or go"},
		{"codegen --catalog catalog.json --package x", "--package is only for --lang go"},
		{"codegen --catalog catalog.json --lang go --package func", "authz-verify codegen: --package must be a Go identifier"},
		{"codegen --catalog catalog.json --lang go --package=", "--package must not be empty"},
		{"codegen --catalog catalog.json --prefix 1x", "authz-verify codegen: --prefix must match "},
		{"codegen --catalog catalog.json --prefix=", "--prefix must not be empty"},
		{"codegen --catalog catalog.json --lang go --prefix x", "--prefix must begin with an upper-case"},
		{"codegen --catalog catalog.json --out=", "--out must not be empty"},
		{"codegen --catalog catalog.json --out no/such/dir.ts", "cannot write no/such/dir.ts: no such file or directory"},
		{"codegen --catalog catalog.json --out src", "cannot write src: not a regular file"},
		{"init x", `authz-verify init: unexpected argument "x"`},
		{"init --format json", "unknown flag --format"},
		{"init", "authz-verify.config.json exists already"},
	} {
		expectFailed(t, c.want, strings.Fields(c.args)...)
	}
}
