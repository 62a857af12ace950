package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api/hosted/openapi"
	"github.com/authzhost/authz/internal/openapi/typescript"
	"github.com/authzhost/authz/web"
)

// sources are the files below src by their paths, slashes between.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("src", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		found[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheBuildIsOfTheseSources(t *testing.T) {
	files := sources(t)
	for _, name := range []string{"index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s\n%d\n%s", name, len(files[name]), files[name])
	}
	told, err := fs.ReadFile(web.Files(), "sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != strings.TrimSpace(string(told)) {
		t.Error("dist was built of other sources: make web")
	}
}

func TestTheTypesAreThoseOfTheDocument(t *testing.T) {
	want, err := typescript.Types(openapi.Document)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), sources(t)["src/api/schema.gen.ts"]); d != "" {
		t.Errorf("go generate ./web: %s", d)
	}
}

// rooms are the folders of src with what each may import; "libraries" are packages,
// and every room may import itself and text.
var rooms = map[string][]string{
	"text":     {},
	"domain":   {"src/api/schema.gen.ts"},
	"api":      {"domain", "libraries"},
	"ui":       {"domain", "libraries"},
	"features": {"api", "domain", "ui", "libraries"},
	"app":      {"api", "domain", "ui", "features", "libraries"},
}

var imports = regexp.MustCompile(`(?m)(?:^import (?:[^'\n]* from )?|^\} from |\bimport\()'([^']+)'`)

func TestImportRulesOfTheSources(t *testing.T) {
	judged := map[string]int{}
	for name, content := range sources(t) {
		room, below, ok := strings.Cut(strings.TrimPrefix(name, "src/"), "/")
		if !ok || path.Ext(name) != ".ts" && path.Ext(name) != ".tsx" {
			continue // main.tsx joins them all
		}
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s is in no room", name)
		}
		for _, found := range imports.FindAllStringSubmatch(content, -1) {
			judged[room]++
			if !strings.HasPrefix(found[1], ".") {
				if !slices.Contains(allowed, "libraries") {
					t.Errorf("%s imports %s: %s takes no libraries", name, found[1], room)
				}
				continue
			}
			to := path.Join(path.Dir(name), found[1])
			of, within, _ := strings.Cut(strings.TrimPrefix(to, "src/"), "/")
			switch {
			case of == "text" || to == "src/icon.svg" || slices.Contains(allowed, of) || slices.Contains(allowed, to):
			case of != room:
				t.Errorf("%s imports %s, which %s may not", name, to, room)
			case room == "features" && path.Dir(below) != path.Dir(within):
				t.Errorf("%s imports %s: no screen imports another", name, to)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s imports %s: %v", name, to, err)
			}
		}
	}
	for room := range rooms {
		if judged[room] == 0 && room != "text" {
			t.Errorf("nothing of the room %s was judged", room)
		}
	}
}

// never are endpoints that no screen calls, each with its reason.
var never = map[string]string{
	"GET /auth/oidc/callback":   "the provider sends the browser there",
	"GET /openapi.json":         "for programs",
	"GET /orgs/{org}/org/epoch": "GET /orgs/{org}/changes tells it without being asked",
	"POST /orgs/{org}/evaluate": "for principal keys",
	"POST /registry/publish":    "for publisher keys",
}

var calls = regexp.MustCompile(`'((?:GET|POST|PUT|PATCH|DELETE) /[^']*)'`)

func TestTheDashboardCallsTheDocument(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openapi.Document, &document); err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for p, methods := range document.Paths {
		for method := range methods {
			documented[strings.ToUpper(method)+" "+p] = true
		}
	}
	called := map[string]bool{}
	for name, content := range sources(t) {
		if name == "src/api/schema.gen.ts" {
			continue
		}
		for _, found := range calls.FindAllStringSubmatch(content, -1) {
			called[found[1]] = true
			if !documented[found[1]] {
				t.Errorf("%s calls %s, which is not in the document", name, found[1])
			}
		}
	}
	for endpoint := range documented {
		switch {
		case called[endpoint] && never[endpoint] != "":
			t.Errorf("%s is called: take it from the list", endpoint)
		case !called[endpoint] && never[endpoint] == "":
			t.Errorf("%s is called by no screen", endpoint)
		}
	}
	for endpoint, why := range never {
		if !documented[endpoint] {
			t.Errorf("%s (%s) is not in the document", endpoint, why)
		}
	}
}

var shown = regexp.MustCompile(`(?:src|srcset)="(images/dashboard/[^"]+)"`)

// The pictures of the page are there and small, and none is kept that it does not show.
func TestThePicturesOfThePage(t *testing.T) {
	docs := filepath.Join("..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "dashboard.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, found := range shown.FindAllStringSubmatch(string(page), -1) {
		want[found[1]] = true
	}
	files, err := filepath.Glob(filepath.Join(docs, "images", "dashboard", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d pictures: %v", len(files), err)
	}
	for _, file := range files {
		name := "images/dashboard/" + filepath.Base(file)
		if !want[name] {
			t.Errorf("%s is not shown by docs/dashboard.md", name)
		}
		delete(want, name)
		if info, err := os.Stat(file); err != nil || info.Size() > 60_000 {
			t.Errorf("%s is larger than 60 KB, or unreadable: %v", name, err)
		}
	}
	for name := range want {
		t.Errorf("docs/dashboard.md shows %s, which make screenshots does not make", name)
	}
}
