package goanalysis

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
)

// shop is the configuration of the projects in testdata/routes.
func shop(t testing.TB) *Checker {
	t.Helper()
	dir, err := filepath.Abs("testdata/routes")
	if err != nil {
		t.Fatal(err)
	}
	checker, err := New(shopSettings(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return checker
}

func shopSettings(t testing.TB, dir string) Settings {
	return Settings{Catalog: vocabulary(t), Dir: dir, GateNames: []string{"may", "can"}, Routes: &config.Routes{
		Gates: []string{"RequirePermission", "requireUser", "RequireUser", "RequireRole", "requireKey", "(example.com/shop/chi.server).auth", "auth",
			"requireUnary", "requireStream", "userOnly", "keyOnly"},
		Public:  []string{"GET /health", "/static/*", "/out/public"},
		Routers: []string{"example.com/shop/own.Router"},
	}}
}

var wantRE = regexp.MustCompile("// want (.*)$")

// TestRoutes holds the findings of the projects in testdata/routes to their comments,
// both ways.
func TestRoutes(t *testing.T) {
	checker := shop(t)
	judged, err := checker.Judge(t.Context(), checker.dir, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{} // by file and line
	for _, r := range judged.Reports {
		for _, f := range r.Findings {
			at := f.File + ":" + strconv.Itoa(f.Line)
			got[at] = append(got[at], f.Message)
			if f.Rule != verify.RuleUngatedAction {
				t.Errorf("%s: [%s] %s", at, f.Rule, f.Message)
			}
		}
	}
	planted := 0
	for _, r := range judged.Reports {
		text, err := os.ReadFile(filepath.Join(checker.dir, r.File))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			at := r.File + ":" + strconv.Itoa(i+1)
			m := wantRE.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			for _, q := range quotedRE.FindAllString(m[1], -1) {
				planted++
				re := regexp.MustCompile(strings.Trim(q, "`"))
				at := at
				j := slices.IndexFunc(got[at], re.MatchString)
				if j < 0 {
					t.Errorf("%s: nothing says %s, but %q", at, q, got[at])
					continue
				}
				got[at] = slices.Delete(got[at], j, j+1)
			}
		}
	}
	for at, messages := range got {
		for _, message := range messages {
			t.Errorf("%s: %s", at, message)
		}
	}
	if planted < 35 {
		t.Errorf("%d faults are planted", planted)
	}
	t.Log(judged.Tally)
}
