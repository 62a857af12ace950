package goanalysis

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
)

// SettingsOf are what a configuration says of Go sources. The catalog and the
// owners' keys are those that it names, dir is what its paths are relative to.
func SettingsOf(c *config.Config, cat *catalog.Catalog, ownerKeys map[string][]string, dir string) Settings {
	s := Settings{
		Catalog: cat, OwnerKeys: ownerKeys, Dir: dir,
		GateNames: c.GateNames, VisibilityNames: c.VisibilityNames, Exclude: c.Exclude,
		ServerFilePatterns: c.ServerFilePatterns, ForbidClientIdentifiers: c.ForbidClientIdentifiers,
		ImportSource: verify.ImportSource(c.ImportSource), ImplicitImports: verify.Policy(c.ImplicitImports),
		ImplicitImportAllow: c.ImplicitImportAllow,
	}
	if c.Go != nil {
		s.Tests, s.ClientPackages = c.Go.Tests, c.Go.ClientPackages
		s.ServerFunctions, s.ClientFilePatterns, s.Routes = c.Go.ServerFunctions, c.Go.ClientFiles, c.Go.Routes
	}
	return s
}

// inputs are the files that an analyzer's Checker is made of, read whole, so
// that they compare.
type inputs struct {
	dir       string // what the paths in the configuration are relative to
	base      string // what the paths of sources are
	config    []byte
	catalog   []byte
	manifest  []byte
	documents map[string][]byte
	parsed    *config.Config
}

// readInputs reads a configuration and what it names, or a catalog alone. Paths
// in a configuration are relative to its folder: an analyzer runs wherever its
// driver pleases.
func readInputs(configPath, catalogPath string) (*inputs, error) {
	in := &inputs{documents: map[string][]byte{}, parsed: &config.Config{}, dir: filepath.Dir(catalogPath)}
	if configPath != "" {
		raw, err := os.ReadFile(configPath)
		if err != nil {
			return nil, fmt.Errorf("cannot read config: %w", err)
		}
		if in.parsed, _, err = config.Parse(raw); err != nil {
			return nil, fmt.Errorf("config %s: %w", configPath, err)
		}
		in.config, in.dir = raw, filepath.Dir(configPath)
	}
	if catalogPath == "" {
		catalogPath = in.at(in.parsed.Catalog)
	}
	var err error
	if in.catalog, err = os.ReadFile(catalogPath); err != nil {
		return nil, fmt.Errorf("cannot read catalog: %w", err)
	}
	if in.parsed.ImportManifest != "" {
		if in.manifest, err = os.ReadFile(in.at(in.parsed.ImportManifest)); err != nil {
			return nil, fmt.Errorf("cannot read an imported catalog: %w", err)
		}
	}
	for ns, path := range in.parsed.Imports {
		if in.documents[ns], err = os.ReadFile(in.at(path)); err != nil {
			return nil, fmt.Errorf("cannot read an imported catalog: %w", err)
		}
	}
	in.base = in.dir
	return in, nil
}

// under moves the base of a configuration that lies outside the project to the
// module of the package: excludes are about paths in a project.
func (in *inputs) under(pkg string) {
	if rel, err := filepath.Rel(in.dir, pkg); err == nil && filepath.IsLocal(rel) {
		return
	}
	in.base = pkg
	if module, err := find("go.mod", pkg); err == nil {
		in.base = filepath.Dir(module)
	}
}

func (in *inputs) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(in.dir, path)
}

// settings builds the catalog and the settings.
func (in *inputs) settings() (Settings, error) {
	documents, owned := map[string]json.RawMessage{}, map[string][]string{}
	for _, ns := range slices.Sorted(maps.Keys(in.documents)) {
		raw := in.documents[ns]
		keys, err := OwnerKeys(ns, raw)
		if err != nil {
			return Settings{}, fmt.Errorf("cannot read an imported catalog: %s: %w", in.parsed.Imports[ns], err)
		}
		documents[ns], owned[ns] = raw, keys
	}
	cat, err := catalog.FromDocument(in.catalog, catalog.DocumentOptions{Imports: in.manifest, Documents: documents})
	if err != nil {
		return Settings{}, fmt.Errorf("invalid catalog: %w", err)
	}
	return SettingsOf(in.parsed, cat, owned, in.base), nil
}

// OwnerKeys are the keys of a namespace in the document of the application that
// publishes it. Not publishing it is an error.
func OwnerKeys(namespace string, document json.RawMessage) ([]string, error) {
	owner, err := catalog.FromDocument(document, catalog.DocumentOptions{})
	if err != nil {
		return nil, err
	}
	if !slices.Contains(owner.Namespaces(), namespace) {
		return nil, fmt.Errorf("the document publishes %q, not %q", owner.Namespaces(), namespace)
	}
	return slices.DeleteFunc(owner.OwnedKeys(), func(key string) bool { return authz.NamespaceOf(key) != namespace }), nil
}

// errNotFound is a file that lies in no folder of the package or above it.
var errNotFound = errors.New("neither in the folder of the package nor in one above it")

var errNoConfig = fmt.Errorf("no configuration: name one by -config or a catalog by -catalog, or put %s "+
	"into the folder of the package or one above it%w", config.DefaultPath, silent{errNotFound})

// silent is an error whose text is said already.
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }

// find looks for a file, "" for the default configuration, from a folder
// upwards: go vet runs its tool in the folder of each package.
func find(name, from string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	wanted := name
	if wanted == "" {
		wanted = config.DefaultPath
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, wanted)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if name == "" {
		return "", errNoConfig
	}
	return "", fmt.Errorf("cannot read %s: neither in %s nor in a folder above it%w", name, from, silent{errNotFound})
}
