package main

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var faulty = map[string]string{
	"src/a.tsx":             "// authz-verify-ignore-file system\x07 trust\n",
	"src/b [1]#?.mts":       "can(\"zoom.rooms.raed\")\n",
	"src/app/x/route.ts":    "export async function GET() {}\n",
	"src/es\x1bcape.ts":     bothKeys + "\n\ncan(\"zoom.rooms\")\n",
	"src/node_modules/x.ts": "can(\"zoom.rooms.raed\")\n",
}

func TestTextIsTheSpecsAndControlsAreVisible(t *testing.T) {
	project(t, faulty)
	status, stdout, stderr := call(t)
	want := []string{
		`✖ [ungated-action] src/app/x/route.ts:1 — exported server action "GET" contains no gate — `,
		`✖ [unknown-pattern] src/b [1]#?.mts:1 — "zoom.rooms.raed" is not in the catalog (typo, or an undeclared key) — did you mean "zoom.rooms.read"?`,
		`✖ [unknown-pattern] src/es\x1bcape.ts:4 — "zoom.rooms" is a group, not a key — `,
		`○ [ignored] src/a.tsx — system\x07 trust`,
		`authz-verify: 4 file(s), 1 ignored, 3 error(s), 0 warning(s)`,
	}
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	if status != exitIssues || stdout != "" || len(lines) != len(want) {
		t.Fatalf("exit %d, stdout %q, stderr\n%s", status, stdout, stderr)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: %s\nwant %s", i, line, want[i])
		}
	}
}

func TestJSONIsOneLineOnStdout(t *testing.T) {
	project(t, map[string]string{"src/app/x/route.ts": "export async function GET() {}\n" + bothKeys})
	status, stdout, stderr := call(t, "--format", "json")
	var report struct {
		Issues []struct{ Message string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Issues) != 1 {
		t.Fatalf("%v: %s", err, stdout)
	}
	message, err := json.Marshal(report.Issues[0].Message)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"issues":[{"severity":"error","rule":"ungated-action","file":"src/app/x/route.ts","line":1,"message":` + string(message) +
		`}],"referencedKeys":["zoom.rooms.delete","zoom.rooms.read"],"referencedPatterns":[],"skippedFiles":[],"errorCount":1,"warningCount":0,"fileCount":1}` + "\n"
	if diff := cmp.Diff(want, stdout); status != exitIssues || stderr != "" || diff != "" {
		t.Errorf("exit %d, stderr %q, %s", status, stderr, diff)
	}
}

func TestSARIFPlacesEachResult(t *testing.T) {
	project(t, faulty)
	write(t, "gen/catalog.json", strings.Replace(zoom, `"leaves":[`, `"leaves":[{"key":"zoom.rooms.create"},`, 1))
	write(t, "authz-verify.config.json", `{"catalog":"./gen/catalog.json"}`)
	status, stdout, stderr := call(t, "--format", "sarif")
	if status != exitIssues || stderr != "" {
		t.Fatalf("exit %d: %s", status, stderr)
	}
	validSARIF(t, stdout)
	var log sarifLog
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Schema == "" {
		t.Fatalf("%s", stdout)
	}
	run := log.Runs[0]
	var got []string
	for _, r := range run.Results {
		at := r.Locations[0].Physical
		line := 0
		if at.Region != nil {
			if line = at.Region.StartLine; at.Region.StartColumn < 1 {
				t.Errorf("%s has no column", r.RuleID)
			}
		}
		got = append(got, strings.Join([]string{r.Level, r.RuleID, at.Artifact.URI, string(rune('0' + line))}, " "))
		if r.RuleID != run.Tool.Driver.Rules[r.RuleIndex].ID || r.Message.Text == "" {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"error ungated-action src/app/x/route.ts 1",
		"error unknown-pattern src/b%20%5B1%5D%23%3F.mts 1",
		"error unknown-pattern src/es%1Bcape.ts 4",
		"warning unreferenced-leaf gen/catalog.json 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if i := run.Invocations[0]; !i.ExecutionSuccessful || i.ExitCode != exitIssues || len(i.Notifications) != 1 ||
		i.Notifications[0].Message.Text != `ignored: system\x07 trust` {
		t.Errorf("%+v", run.Invocations)
	}
}

//go:embed testdata/sarif-2.1.0.json
var sarifSchema string

// validSARIF holds an output to the standard's own schema (OASIS, as the package
// @microsoft/sarif-multitool carries it).
func validSARIF(t *testing.T, output string) {
	t.Helper()
	standard, err := jsonschema.UnmarshalJSON(strings.NewReader(sarifSchema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", standard); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	log, err := jsonschema.UnmarshalJSON(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(log); err != nil {
		t.Errorf("the log is not SARIF 2.1.0: %v", err)
	}
}

func TestSARIFOfNothingHasAnEmptyList(t *testing.T) {
	project(t, map[string]string{"src/a.ts": bothKeys})
	status, stdout, _ := call(t, "--format", "sarif")
	validSARIF(t, stdout)
	if status != exitClean || !strings.Contains(stdout, `"results": []`) {
		t.Errorf("exit %d: %s", status, stdout)
	}
}

func TestSARIFPathsAreReferences(t *testing.T) {
	for path, want := range map[string]string{"/abs/a b.ts": "file:///abs/a%20b.ts", "c:x.ts": "./c:x.ts", "../é.ts": "../%C3%A9.ts"} {
		if got := place(path, 1, 1).Physical.Artifact.URI; got != want {
			t.Errorf("%s is placed at %s, want %s", path, got, want)
		}
	}
}

func TestHelpAndVersionAreOnStdout(t *testing.T) {
	t.Chdir(t.TempDir())
	told := "authz-verify " + version + "\n"
	for args, want := range map[string]string{"--help": usage, "-h": usage, "codegen --help": codegenUsage, "codegen -h": codegenUsage,
		"init --help": initUsage, "--version": told, "codegen --version": told, "init --version": told} {
		if status, stdout, stderr := call(t, strings.Fields(args)...); status != exitClean || stdout != want || stderr != "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
}

func TestFlagsTakeTheirValueEitherWay(t *testing.T) {
	project(t, map[string]string{"src/a.ts": bothKeys, "other.json": `{"catalog":"catalog.json","include":[]}`})
	if _, _, stderr := call(t, "--config=other.json"); strings.Count(stderr, "unreferenced-leaf") != 2 {
		t.Errorf("--config=other.json: %s", stderr)
	}
	expectText(t, exitClean, clean1, "--config", "other.json", "--config", "authz-verify.config.json") // the last counts
	expectText(t, exitClean, clean1, "--format", "text", "--config")
}

func TestWhatWasJudgedIsTold(t *testing.T) {
	project(t, map[string]string{
		"src/app/x/route.ts": "export const GET = wrap(async () => {});\nexport const OPTIONS = () => {};\nexport const POST = async () => { await require(u, \"zoom.rooms.read\") };\nimport { require } from 'x';\nexport function PUT() {}\n",
		"src/b.js":           bothKeys,
	})
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","judge":"exports"}`)
	status, _, text := call(t)
	if status != exitIssues || !strings.HasSuffix(text, "authz-verify: 2 file(s), 0 ignored, 4 error(s), 0 warning(s)\n"+
		"authz-verify: 4 server functions: 1 gated, 1 exempt, 1 findings, 1 behind unknown wrappers\n") {
		t.Errorf("exit %d\n%s", status, text)
	}
	if _, out, _ := call(t, "--format", "json"); !strings.Contains(out, `"judged":{"serverFunctions":4,"gated":1,"exempt":1,"findings":1,"unknownWrappers":1}`) {
		t.Error(out)
	}
	_, out, _ := call(t, "--format", "sarif")
	validSARIF(t, out)
	if !strings.Contains(out, `"serverFunctions": 4`) || !strings.Contains(out, `"ruleId": "unknown-wrapper"`) {
		t.Error(out)
	}
	if _, again, _ := call(t, "--format", "json", "--cache", "kept"); again != func() string { _, out, _ := call(t, "--format", "json", "--cache", "kept"); return out }() {
		t.Error("the cache changes the answer")
	}
	if got := thousands(1197) + " " + thousands(999) + " " + thousands(1234567); got != "1,197 999 1,234,567" {
		t.Error(got)
	}
}
