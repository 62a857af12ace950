package goanalysis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/verify/config"
)

var recipeRE = regexp.MustCompile("(?s)\n### ([^\n]+)\n\n```go\n(.*?)```\n\n```json\n(.*?)```\n")

// TestTheRecipesOfTheGuide judges each recipe of docs/verify-go.md by its configuration:
// the lines that it marks are reported, and no others.
func TestTheRecipesOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/verify-go.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range recipeRE.FindAllStringSubmatch(string(guide), -1) {
		name, code, configuration := m[1], m[2], m[3]
		names = append(names, name)
		t.Run(name, func(t *testing.T) {
			c, _, err := config.Parse([]byte(`{"catalog": "c", "go": {"routes": ` + configuration + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid([]byte(configuration)) {
				t.Fatal("no JSON")
			}
			dir := t.TempDir()
			if strings.Contains(code, "github.com/authzhost/authz/") {
				dir = middlewareProject(t)
			} else if err := os.CopyFS(dir, os.DirFS("testdata/routes")); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "recipe/recipe.go")
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(code), 0o644); err != nil {
				t.Fatal(err)
			}
			checker, err := New(Settings{Catalog: vocabulary(t), Dir: dir, Routes: c.Go.Routes})
			if err != nil {
				t.Fatal(err)
			}
			judged, err := checker.Judge(t.Context(), dir, []string{"./recipe"})
			if err != nil {
				t.Fatal(err)
			}
			var want, got []int
			for i, line := range strings.Split(code, "\n") {
				if strings.HasSuffix(line, "// reported") {
					want = append(want, i+1)
				}
			}
			for _, f := range judged.Reports[0].Findings {
				got = append(got, f.Line)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 || judged.Tally.Gated == 0 || judged.Tally.NotFollowed != 0 {
				t.Errorf("%v\n%s\n%v", judged.Tally, diff, errorsOf(judged))
			}
		})
	}
	if diff := cmp.Diff([]string{"net/http", "chi", "gin", "echo", "gRPC", "authz's own middleware"}, names); diff != "" {
		t.Error(diff)
	}
}
