package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
)

func TestFilesAreScannedInTheOrderGivenHoweverManyAtOnce(t *testing.T) {
	files, sources, want := []string{}, map[string]string{}, []string{}
	for i := range 300 {
		file := fmt.Sprintf("src/%03d.ts", (i*7)%300)
		files = append(files, file)
		sources[file] = "can(" + bad + ")"
		want = append(want, file)
	}
	for _, parallel := range []int{0, 1, 3, 500} {
		last := 0
		r, err := Verify(context.Background(), Config{Catalog: exampleCatalog(t), Files: files, Read: fromMap(sources), Parallel: parallel,
			Progress: func(done int) {
				if done != last+1 {
					t.Errorf("progress %d after %d", done, last)
				}
				last = done
			}})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range r.Issues {
			if f.Rule == RuleUnknownPattern {
				got = append(got, f.File)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parallel %d (-want +got):\n%s", parallel, diff)
		}
		if last != len(files) || r.FileCount != len(files) {
			t.Errorf("progress ended at %d, %d files counted, want %d", last, r.FileCount, len(files))
		}
	}
}

func TestARunThatCannotBeMadeSaysWhy(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.ts")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 50<<20); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.ts")
	config := func(change func(*Config)) Config {
		c := Config{Catalog: exampleCatalog(t)}
		change(&c)
		return c
	}
	for _, c := range []struct {
		name   string
		config Config
		as     any
		want   string
	}{
		{"no catalog", Config{}, new(*OptionError), "Catalog: is required"},
		{"import source", config(func(c *Config) { c.ImportSource = "x" }), new(*OptionError), `ImportSource: "x" is not one of`},
		{"policy", config(func(c *Config) { c.ImplicitImports = "x" }), new(*OptionError), `ImplicitImports: "x" is not one of`},
		{"lookahead", config(func(c *Config) { c.ServerFilePatterns = []string{"a(?=b)"} }), new(*PatternError), "(?="},
		{"backreference", config(func(c *Config) { c.ServerFilePatterns = []string{`(a)\1`} }), new(*PatternError), `\1`},
		{"missing", config(func(c *Config) { c.Files = []string{missing} }), new(*SourceError), "cannot read source " + missing + ": no such file or directory"},
		{"directory", config(func(c *Config) { c.Files = []string{dir} }), new(*SourceError), "not a regular file"},
		{"large", config(func(c *Config) { c.Files = []string{large} }), new(*SourceError), "larger than 16 MiB"},
		{"the first in order", config(func(c *Config) {
			c.Files = []string{"a", "b", "c"}
			c.Read = func(file string) ([]byte, error) {
				if file == "a" {
					return nil, nil
				}
				return nil, errors.New("gone")
			}
		}), new(*SourceError), "cannot read source b: gone"},
		{"too large when read", config(func(c *Config) {
			c.Files = []string{"a"}
			c.Read = func(string) ([]byte, error) { return make([]byte, MaxSourceBytes+1), nil }
		}), new(*SourceError), "larger than 16 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Verify(context.Background(), c.config)
			if r != nil || err == nil || !errors.As(err, c.as) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Verify = %v, %v; want %T with %q", r, err, c.as, c.want)
			}
		})
	}
	if _, err := Verify(context.Background(), config(func(c *Config) { c.Files = []string{missing} })); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not unwrap to its cause", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, config(func(c *Config) { c.Files = []string{"a"}; c.Read = fromMap(nil) })); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run ended with %v", err)
	}
}

func TestBrokenSourcesAreReadAsFarAsTheyCanBe(t *testing.T) {
	for name, text := range map[string]string{
		"syntax error before": "function ( { ] => @@ \ncan(" + bad + ")",
		"unterminated":        "can(" + bad + ", `",
		"cut off":             "if (x) { can(" + bad,
		"invalid UTF-8":       "x = '\xff\xfe'; can(" + bad + ")",
		"binary":              "\x00\x01\x7fELF\x00 can(" + bad + ")",
		"merge conflict":      "<<<<<<< HEAD\ncan(" + bad + ")\n=======\n>>>>>>> x",
		"wrong kind":          "const a = <A>can(" + bad + ")</A>;",
	} {
		if _, got := scan(t, Config{}, "a.ts", text); len(got) != 1 {
			t.Errorf("%s: %v, want one issue", name, got)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "mark": bom, "blank": " \n", "zeros": strings.Repeat("\x00", 1000), "UTF-16": "\xff\xfec\x00a\x00n\x00(\x00",
	} {
		if _, got := scan(t, Config{}, "a.ts", text); len(got) != 0 {
			t.Errorf("%s: %v, want none", name, got)
		}
	}
}

func TestImplicitImportsFollowTheSourceUnlessSet(t *testing.T) {
	imports := exampleCatalog(t)
	for _, c := range []struct {
		config Config
		want   authz.Severity
	}{
		{Config{}, authz.SeverityWarning},
		{Config{ImportSource: SourceNone}, authz.SeverityError},
		{Config{ImportSource: SourceNone, ImplicitImports: PolicyWarn}, authz.SeverityWarning},
		{Config{ImplicitImports: PolicyError}, authz.SeverityError},
		{Config{ImplicitImports: PolicyOff}, ""},
		{Config{ImplicitImportAllow: []string{"slack"}}, ""},
		{Config{ImplicitImportAllow: []string{"other"}}, authz.SeverityWarning},
	} {
		c.config.Catalog = imports
		r, found := scan(t, c.config, "a.ts", `can("slack.a.b")`)
		switch {
		case c.want == "" && len(found) != 0, c.want != "" && (len(found) != 1 || r.Issues[0].Severity != c.want):
			t.Errorf("%+v: %v, want severity %q", c.config, r.Issues, c.want)
		}
	}
}

func TestKeysOfOwnersAreOfferedForTheirNamespaceOnly(t *testing.T) {
	config := Config{OwnerKeys: map[string][]string{"zoom": {"zoom.rooms.read_all", "zoom.host"}, "meet": {"meet.files.raed"}}}
	r, _ := scan(t, config, "a.ts", `can("zoom.rooms.read_al", "docs.files.raed")`)
	want := [][]string{{"zoom.rooms.read_all"}, {"docs.files.read"}}
	if diff := cmp.Diff(want, [][]string{r.Issues[0].Instead, r.Issues[1].Instead}); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
}

func TestVeryLongLiteralsAreCutInMessagesOnly(t *testing.T) {
	long := "zoom.meetings." + strings.Repeat("a", 500)
	r, _ := scan(t, Config{}, "a.ts", `can("`+long+`"); can("docs.`+strings.Repeat("b", 500)+`")`)
	if diff := cmp.Diff([]string{long}, r.ReferencedKeys); diff != "" {
		t.Errorf("referenced keys (-want +got):\n%s", diff)
	}
	if m := r.Issues[0].Message; !strings.Contains(m, "…(+385 more)\" is not in the catalog") {
		t.Errorf("message %q", m)
	}
}

func TestTheReportsJSONIsTheSpecs(t *testing.T) {
	got, err := authz.Marshal(&Report{
		Issues:         []Finding{{Severity: authz.SeverityError, Rule: RuleUngatedAction, File: "src/app/x/route.ts", Line: 1, Column: 1, Message: "...", Instead: []string{"x"}}},
		ReferencedKeys: []string{"docs.files.read"}, ErrorCount: 1, FileCount: 1,
	})
	want := `{"issues":[{"severity":"error","rule":"ungated-action","file":"src/app/x/route.ts","line":1,"message":"..."}],` +
		`"referencedKeys":["docs.files.read"],"referencedPatterns":[],"skippedFiles":[],"errorCount":1,"warningCount":0,"fileCount":1}`
	if err != nil || string(got) != want {
		t.Errorf("JSON %s, %v; want %s", got, err, want)
	}
}

func TestACacheAroundTheScanIsAskedForEachFile(t *testing.T) {
	remembered := FileReport{File: "a.ts", Keys: []string{"docs.pay.read"}, Findings: []Finding{{Severity: authz.SeverityError, Rule: RuleUngatedAction, File: "a.ts", Line: 9}}}
	r, err := Verify(context.Background(), Config{
		Catalog: exampleCatalog(t), Files: []string{"a.ts", "b.ts"}, Read: fromMap(map[string]string{"b.ts": `can("docs.files.read")`}),
		Around: func(file string, scan func() (FileReport, error)) (FileReport, error) {
			if file == "a.ts" {
				return remembered, nil
			}
			return scan()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"docs.files.read", "docs.pay.read"}, r.ReferencedKeys); diff != "" || r.ErrorCount != 1 {
		t.Errorf("%d errors, keys (-want +got):\n%s", r.ErrorCount, diff)
	}
	text, err := json.Marshal(remembered)
	var back FileReport
	if err != nil || json.Unmarshal(text, &back) != nil || cmp.Diff(remembered, back) != "" {
		t.Errorf("a report does not survive its JSON: %s, %v", text, err)
	}
}

func TestReportsKeepNothingOfTheirSources(t *testing.T) {
	const size = 4 << 20
	for name, text := range map[string]string{
		"keys and patterns": `can("docs.files.read"); canAny("docs.files.*");`,
		"findings":          `can("docs.files.raed"); can("zoom.meetings.x"); can("docs.*"); canAny("zoom.*");`,
		"pragmas":           "// authz-verify-ignore-next-line unknown-key of old\ncan('docs.files.raed') // authz-verify-ignore-line of\n// authz-verify-ignore-line unused-key why\n// authz-verify-ignore-file\n",
		"an ignored file":   "// authz-verify-ignore-file a reason\ncan('docs.files.raed')",
	} {
		files := []string{"1.ts", "2.ts", "3.ts", "4.ts"}
		config := Config{Catalog: exampleCatalog(t), Files: files, Read: func(string) ([]byte, error) {
			return []byte(text + "\n//" + strings.Repeat("x", size)), nil
		}}
		live := func() uint64 {
			var m runtime.MemStats
			for range 3 { // the parser's pools keep what they have for two
				runtime.GC()
			}
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := live()
		reports, err := Scan(context.Background(), config)
		if after := live(); err != nil || len(reports) != len(files) || after > before+size {
			t.Errorf("%s: %v, %d reports keep %d bytes of 4 files of %d", name, err, len(reports), after-before, size)
		}
		if r := reports[0]; len(r.Findings)+len(r.Keys) == 0 && r.Skipped == nil {
			t.Errorf("%s: nothing found", name)
		}
		runtime.KeepAlive(reports)
	}
}
