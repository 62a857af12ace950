package config

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/sources"
)

// Survey is what lies in a project, as far as a first configuration needs it. Paths
// have "/".
type Survey struct {
	Catalogs  []Artifact // catalog documents, the likeliest first
	Manifests []Artifact // import manifests, alike
	Include   []string   // what of the top level is a TypeScript source or has some below
	Go        []string   // patterns of the Go packages; nil without go.mod and go.work
	Next      bool       // package.json depends on next
	Secrets   []string   // names in .env files that read like secrets

	Frameworks []string // that package.json files depend on, of those whose server functions are judged
	Exclude    []string // parts of the paths of tests
	Sources    []string // what Include and Exclude have scanned
	Proposal   *verify.Proposal
}

// Artifact is a published file.
type Artifact struct {
	Path       string
	Namespace  string
	Namespaces []string // of a document: those it owns; of a manifest: those it imports
}

// The bounds of the search for artifacts.
const (
	surveyDepth = 4
	surveyBytes = 16 << 20
)

// Look surveys the working directory.
func Look() (*Survey, error) {
	s := &Survey{}
	if err := filepath.WalkDir(".", s.visit); err != nil {
		return nil, err
	}
	shallowFirst := func(a, b Artifact) int {
		return strings.Count(a.Path, "/") - strings.Count(b.Path, "/")
	}
	slices.SortStableFunc(s.Catalogs, shallowFirst)
	slices.SortStableFunc(s.Manifests, shallowFirst)
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			roots = append(roots, e.Name())
		}
	}
	all := sources.LookAll(roots, nil).Files
	for _, mark := range testMarks {
		if slices.ContainsFunc(all, func(file string) bool { return strings.Contains(file, mark) }) {
			s.Exclude = append(s.Exclude, mark)
		}
	}
	for _, file := range all {
		if slices.ContainsFunc(s.Exclude, func(mark string) bool { return strings.Contains(file, mark) }) {
			continue
		}
		s.Sources = append(s.Sources, file)
		if top, _, _ := strings.Cut(file, "/"); !slices.Contains(s.Include, top) {
			s.Include = append(s.Include, top)
		}
	}
	switch {
	case isFile("go.work"):
		s.Go = []string{"work"} // "./..." is an error where go.work has no module at the top
	case isFile("go.mod"):
		s.Go = []string{"./..."}
	}
	slices.Sort(s.Frameworks)
	s.Frameworks = slices.Compact(s.Frameworks)
	slices.Sort(s.Secrets)
	s.Secrets = slices.Compact(s.Secrets)
	return s, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (s *Survey) visit(path string, e fs.DirEntry, err error) error {
	path = filepath.ToSlash(path)
	switch {
	case err != nil && path == ".":
		return err
	case err != nil: // what cannot be read is not found
		if e.IsDir() {
			return fs.SkipDir
		}
	case e.IsDir():
		hidden := strings.HasPrefix(e.Name(), ".") && path != "."
		if hidden || slices.Contains(sources.DefaultExclude, e.Name()) || strings.Count(path, "/") >= surveyDepth {
			return fs.SkipDir
		}
	case !e.Type().IsRegular():
	case e.Name() == "package.json":
		s.readPackage(path)
	case strings.HasSuffix(path, ".json"):
		s.readArtifact(path, e)
	case !strings.Contains(path, "/") && (path == ".env" || strings.HasPrefix(path, ".env.")):
		s.readEnv(path)
	}
	return nil
}

// frameworks are packages by which a project serves, and their names.
var frameworks = map[string]string{"next": "Next.js", "@trpc/server": "tRPC", "hono": "Hono", "express": "Express", "fastify": "Fastify", "@medusajs/medusa": "Medusa", "@medusajs/framework": "Medusa",
	"@nestjs/common": "NestJS", "next-safe-action": "next-safe-action"}

// testMarks are parts of paths by which tests are told.
var testMarks = []string{".test.", ".spec.", "-spec.", "__tests__", "__mocks__", "/e2e/", "/tests/", "/test/", "/integration-tests/", "/fixtures/", ".stories.", "playwright", "cypress"}

func (s *Survey) readPackage(path string) {
	var pkg struct {
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
	}
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &pkg) != nil {
		return
	}
	has := func(name string) bool { return pkg.Dependencies[name] != "" || pkg.DevDependencies[name] != "" }
	s.Next = s.Next || has("next")
	for name, says := range frameworks {
		if has(name) {
			s.Frameworks = append(s.Frameworks, says)
		}
	}
}

func (s *Survey) readArtifact(path string, e fs.DirEntry) {
	if info, err := e.Info(); err != nil || info.Size() > surveyBytes {
		return
	}
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), `"formatVersion"`) {
		return
	}
	var head struct {
		Namespace  string            `json:"namespace"`
		Namespaces []string          `json:"namespaces"`
		Leaves     []json.RawMessage `json:"leaves"`
		Imports    []struct {
			Namespace string `json:"namespace"`
		} `json:"imports"`
	}
	if json.Unmarshal(raw, &head) != nil || head.Namespace == "" {
		return
	}
	found := Artifact{Path: path, Namespace: head.Namespace, Namespaces: head.Namespaces}
	switch {
	case head.Leaves != nil:
		s.Catalogs = append(s.Catalogs, found)
	case head.Imports != nil:
		for _, im := range head.Imports {
			found.Namespaces = append(found.Namespaces, im.Namespace)
		}
		s.Manifests = append(s.Manifests, found)
	}
}

var (
	envName = regexp.MustCompile(`(?m)^\x{FEFF}?\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=`)
	secret  = regexp.MustCompile(`SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIAL|_KEY$|^DATABASE_URL$`)
	public  = regexp.MustCompile(`^(NEXT_PUBLIC|EXPO_PUBLIC|NUXT_PUBLIC|PUBLIC|VITE|REACT_APP|VUE_APP|GATSBY)_`)
)

// readEnv keeps names only, never a value.
func (s *Survey) readEnv(path string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for _, m := range envName.FindAllSubmatch(raw, -1) {
		if name := string(m[1]); secret.MatchString(name) && !public.MatchString(name) {
			s.Secrets = append(s.Secrets, name)
		}
	}
}
