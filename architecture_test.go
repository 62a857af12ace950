// Package authz_test keeps the import rules of docs/architecture.md.
package authz_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/authzhost/authz/"

// rule forbids a room to import, in non-test code, what begins with one of the
// paths; except names rooms below it that may.
type rule struct {
	room      string
	forbidden []string
	except    []string
}

var rules = []rule{
	{room: "sdk/", forbidden: []string{module + "host", module + "plugins", module + "conformance", module + "cmd", module + "examples"},
		except: []string{"sdk/authztest"}}, // a host's application over the memory driver, in tests of programs
	{room: "sdk/authztest", forbidden: []string{module + "host/service", module + "host/api", module + "conformance", module + "cmd", module + "examples"}},
	{room: "", forbidden: []string{module + "sdk/authztest"}},
	{room: "sdk/authz", forbidden: allBut(), except: []string{"sdk/authztest", "sdk/authzhttp", "sdk/authzgrpc"}},
	{room: "sdk/authzhttp", forbidden: allBut("sdk/authz", "sdk/client")},
	{room: "sdk/authzgrpc", forbidden: allBut("sdk/authz", "sdk/client")},
	{room: "sdk/internal/gate", forbidden: allBut("sdk/authz", "sdk/client")},
	{room: "internal/spell", forbidden: []string{module}},
	{room: "sdk/catalog", forbidden: allBut("sdk/authz")},
	{room: "sdk/access", forbidden: allBut("sdk/authz", "sdk/catalog")},
	{room: "internal/compiled", forbidden: allBut("sdk/authz", "sdk/catalog", "sdk/access")},
	{room: "sdk/storage", forbidden: allBut("sdk/authz", "sdk/metrics"), except: []string{"sdk/storage/kv"}},
	{room: "sdk/storage/kv", forbidden: allBut("sdk/authz", "sdk/storage")},
	{room: "sdk/metrics", forbidden: allBut("sdk/authz"), except: []string{"sdk/metrics/prometheus"}},
	{room: "sdk/metrics/prometheus", forbidden: allBut("sdk/authz", "sdk/metrics")},
	{room: "sdk/directory", forbidden: allBut("sdk/authz")},
	{room: "sdk/provider", forbidden: allBut("sdk/authz", "sdk/catalog", "sdk/access", "sdk/metrics"), except: []string{"sdk/provider/openapi"}},
	{room: "sdk/provider/openapi", forbidden: []string{module}},
	{room: "host", forbidden: []string{module + "plugins", module + "cmd", module + "examples", module + "conformance"},
		except: []string{"host/mesh/meshcases"}},
	{room: "host/mesh/meshcases", forbidden: []string{module + "plugins", module + "cmd", module + "examples", module + "host/service", module + "host/api"}},
	{room: "", forbidden: []string{module + "host/mesh/meshcases"}, except: []string{"cmd/authz-conformance"}},
	{room: "host/files", forbidden: []string{module}},
	{room: "host/anchor", forbidden: allBut("sdk/authz")},
	{room: "host/api/dashboard", forbidden: append(allBut("host"), module+"host/api/hosted", module+"host/service", module+"web")},
	{room: "web", forbidden: []string{module}},
	{room: "host/condition", forbidden: allBut("sdk/authz", "sdk/catalog")},
	{room: "host/lookup", forbidden: allBut("sdk/authz", "sdk/catalog", "sdk/access", "sdk/provider", "sdk/storage", "internal/compiled"),
		except: []string{"host/lookup/lookuptest"}}, // holds lists to the whole application
	{room: "host/mesh/eventlog", forbidden: allBut("sdk/authz", "sdk/provider")},
	{room: "host/listen", forbidden: append(allBut("host"), module+"host/api", module+"host/service")},
	{room: "host/mesh/imported", forbidden: allBut("sdk/authz", "sdk/catalog")},
	{room: "host/internal/cycle", forbidden: []string{module}},
	{room: "internal/lists", forbidden: []string{module}},
	{room: "host/internal/search", forbidden: []string{module}},
	{room: "host/internal/request", forbidden: []string{module}},
	{room: "host/orgmerge", forbidden: append(allBut("sdk/authz", "sdk/provider", "sdk/storage", "host"), module+"host/application", module+"host/service", module+"host/api", module+"host/store")},
	{room: "host/directory", forbidden: allBut("sdk/authz", "sdk/directory", "sdk/storage")},
	{room: "plugins/", forbidden: []string{module + "host", module + "cmd", module + "conformance", module + "examples"}},
	{room: "conformance", forbidden: []string{module + "host", module + "plugins", module + "cmd", module + "examples"}},
	{room: "internal/apply", forbidden: allBut("sdk/authz", "sdk/provider")},
	{room: "internal/catalogdiff", forbidden: allBut("sdk/authz")},
	{room: "internal/hostedclient", forbidden: allBut("sdk/authz", "sdk/provider")},
	{room: "internal/input", forbidden: allBut("sdk/authz")},
	{room: "internal/pages", forbidden: allBut("sdk/authz")},
	{room: "internal/words", forbidden: allBut("sdk/authz")},
	{room: "internal/catalogdoc", forbidden: allBut("sdk/authz", "sdk/catalog")},
	{room: "internal/rows", forbidden: allBut("sdk/authz", "sdk/provider")},
	{room: "internal/remedies", forbidden: allBut("sdk/authz", "sdk/access")},
	{room: "examples/", forbidden: []string{module + "plugins", module + "cmd"},
		except: []string{"examples/internal/demo"}}, // a host of the examples' own, over the memory driver
	{room: "examples/internal/demo", forbidden: []string{module + "cmd"}},
	{room: "", forbidden: []string{"github.com/hashicorp/go-plugin", "google.golang.org/grpc"},
		except: []string{"sdk/plugin", "host/pluginhost", "sdk/authzgrpc"}},
	{room: "", forbidden: []string{"google.golang.org/protobuf"},
		except: []string{"sdk/plugin", "host/pluginhost", "plugins/prometheus"}}, // whose remote-write is protobuf
}

// allBut stands for every room of the module except the named ones.
func allBut(rooms ...string) []string {
	forbidden := []string{}
	for _, room := range []string{"sdk/authz", "sdk/catalog", "sdk/access", "sdk/metrics", "sdk/provider", "sdk/client",
		"sdk/storage", "sdk/directory", "sdk/plugin", "internal/compiled", "conformance", "host", "plugins", "cmd", "examples"} {
		allowed := false
		for _, r := range rooms {
			allowed = allowed || r == room
		}
		if !allowed {
			forbidden = append(forbidden, module+room)
		}
	}
	return forbidden
}

type listed struct {
	ImportPath string
	Imports    []string
	Doc        string
	Name       string
	GoFiles    []string
}

func TestImportRules(t *testing.T) {
	packages := list(t)
	judged := map[string]int{}
	for _, p := range packages {
		room := strings.TrimPrefix(p.ImportPath, module)
		for _, r := range rules {
			if !strings.HasPrefix(room, r.room) || hasAnyPrefix(room, r.except) {
				continue
			}
			judged[r.room]++
			for _, imported := range p.Imports {
				if hasAnyPrefix(imported, r.forbidden) && !strings.HasPrefix(imported, module+r.room+"/") && imported != p.ImportPath {
					t.Errorf("%s imports %s, which the room %q may not", room, imported, r.room)
				}
			}
		}
		if plugin, ok := strings.CutPrefix(room, "plugins/"); ok {
			own, _, _ := strings.Cut(plugin, "/")
			for _, imported := range p.Imports {
				other, ok := strings.CutPrefix(imported, module+"plugins/")
				if ok && !strings.HasPrefix(other+"/", own+"/") && !strings.HasPrefix(other, "internal/") {
					t.Errorf("%s imports the plugin package %s", room, imported)
				}
			}
		}
	}
	for _, r := range rules {
		if judged[r.room] == 0 {
			t.Errorf("the rule for %q judged no package", r.room)
		}
	}
}

func TestEveryPackageSaysWhatLivesInIt(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) > 0 && len(p.Doc) == 0 {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func hasAnyPrefix(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if path == strings.TrimSuffix(p, "/") || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	return false
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Doc,Name,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
