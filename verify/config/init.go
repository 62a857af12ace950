package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Text writes a configuration for what was found. JSON has no comments, so remarks
// are members whose names begin with "//", which readers pass over.
func (s *Survey) Text() []byte {
	w := &writer{}
	own := Artifact{Path: "catalog.json"}
	if len(s.Catalogs) == 0 {
		w.remark("catalog", "No catalog document was found. Emit the application's, then put its path here.")
	} else {
		own = s.Catalogs[0]
		w.remark("catalog", "The catalog document of "+own.Namespace+". Paths are relative to the directory in which authz-verify runs."+also(s.Catalogs[1:]))
	}
	w.member("catalog", own.Path)

	include := s.Include
	switch {
	case len(include) > 0:
	case s.Go != nil:
		include = []string{}
	default:
		include = []string{"src"}
	}
	w.remark("include", "Directories and files with TypeScript sources. Take out what is no part of the application, as tests and tools.")
	w.member("include", include)
	w.remark("exclude", "Parts of paths to skip, besides node_modules, dist, .next and .git.")
	w.member("exclude", []string{})

	w.remark("gateNames", "Functions of your own that decide and refuse, besides can, fresh, require, requirePermission, gateAction and apiRequirePermission.")
	w.member("gateNames", []string{})
	w.remark("visibilityNames", "Functions that only decide what is shown, besides canAny, requireAny and holds.")
	w.member("visibilityNames", []string{})

	server := "Regular expressions (RE2) of paths whose exported async functions need a gate, besides app/.*route.(t|j)sx? and pages/api/."
	if s.Next {
		server += " That covers the routes of Next.js; server actions are known by \"use server\"."
	}
	w.remark("serverFilePatterns", server)
	w.member("serverFilePatterns", []string{})

	secrets := "Identifiers that must not occur in \"use client\" modules."
	if len(s.Secrets) > 0 {
		secrets += " These are the names in .env files that read like secrets."
	}
	w.remark("forbidClientIdentifiers", secrets)
	w.member("forbidClientIdentifiers", append([]string{}, s.Secrets...))

	if i := slices.IndexFunc(s.Manifests, func(m Artifact) bool { return m.Namespace == own.Namespace }); i >= 0 {
		manifest := s.Manifests[i]
		w.remark("importManifest", "What the catalog imports: "+strings.Join(manifest.Namespaces, ", ")+".")
		w.member("importManifest", manifest.Path)
		if owners := s.owners(manifest); len(owners) > 0 {
			w.remark("imports", "The owners' documents, for better suggestions only.")
			w.member("imports", owners)
		}
	}
	if s.Go != nil {
		w.remark("go", "Go packages are checked too. Its other members: tests, clientPackages, serverFunctions, clientFilePatterns.")
		w.member("go", map[string][]string{"packages": s.Go})
	}
	return w.text()
}

// owners are the documents of the namespaces that the manifest imports.
func (s *Survey) owners(manifest Artifact) map[string]string {
	owners := map[string]string{}
	for _, ns := range manifest.Namespaces {
		for _, c := range s.Catalogs {
			if owners[ns] == "" && slices.Contains(c.Namespaces, ns) {
				owners[ns] = c.Path
			}
		}
	}
	return owners
}

func also(others []Artifact) string {
	if len(others) == 0 {
		return ""
	}
	paths := make([]string, len(others))
	for i, c := range others {
		paths[i] = c.Path
	}
	return " Also found: " + strings.Join(paths, ", ") + "."
}

// writer writes the members of an object in the order of the calls.
type writer struct{ members []string }

func (w *writer) remark(name, text string) { w.member(commentMark+" "+name, text) }

func (w *writer) member(name string, value any) {
	w.members = append(w.members, fmt.Sprintf("  %s: %s", encode(name), encode(value)))
}

func (w *writer) text() []byte {
	return []byte("{\n" + strings.Join(w.members, ",\n") + "\n}\n")
}

// encode writes a string, or lists and maps of them.
func encode(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // these types always encode
	return strings.TrimSuffix(b.String(), "\n")
}
