package goanalysis

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify"
)

// DefaultConfig is the configuration that is looked for when none is named.
const DefaultConfig = "authz-verify.config.json"

// file is what a package is judged by of the configuration of authz-verify,
// which alone complains of its other fields.
type file struct {
	Catalog                 string              `json:"catalog"`
	Exclude                 []string            `json:"exclude"`
	GateNames               []string            `json:"gateNames"`
	VisibilityNames         []string            `json:"visibilityNames"`
	ServerFilePatterns      []string            `json:"serverFilePatterns"`
	ForbidClientIdentifiers []string            `json:"forbidClientIdentifiers"`
	ImportManifest          string              `json:"importManifest"`
	Imports                 map[string]string   `json:"imports"`
	ImportSource            verify.ImportSource `json:"importSource"`
	ImplicitImports         verify.Policy       `json:"implicitImports"`
	ImplicitImportAllow     []string            `json:"implicitImportAllow"`
	Go                      struct {
		Tests              bool     `json:"tests"`
		ClientPackages     []string `json:"clientPackages"`
		ServerFunctions    []string `json:"serverFunctions"`
		ClientFilePatterns []string `json:"clientFilePatterns"`
	} `json:"go"`
}

// inputs are the files that a Checker is made of, read whole, so that a change
// of any is a change of the key.
type inputs struct {
	dir       string
	config    []byte
	catalog   []byte
	manifest  []byte
	documents map[string][]byte
	parsed    file
}

// readInputs reads a configuration and what it names, or a catalog alone. Paths
// in a configuration are relative to its folder: an analyzer runs wherever its
// driver pleases.
func readInputs(config, catalogPath string) (*inputs, error) {
	in := &inputs{documents: map[string][]byte{}}
	if config != "" {
		raw, err := os.ReadFile(config)
		if err != nil {
			return nil, fmt.Errorf("cannot read config %s: %w", config, err)
		}
		if err := json.Unmarshal(raw, &in.parsed); err != nil {
			return nil, fmt.Errorf("cannot read config %s: %w", config, err)
		}
		in.config, in.dir = raw, filepath.Dir(config)
	}
	if catalogPath == "" {
		if in.parsed.Catalog == "" {
			return nil, fmt.Errorf("bad config field %q: %s names no catalog", "catalog", config)
		}
		catalogPath = in.at(in.parsed.Catalog)
	}
	var err error
	if in.catalog, err = os.ReadFile(catalogPath); err != nil {
		return nil, fmt.Errorf("cannot read catalog %s: %w", catalogPath, err)
	}
	if in.dir == "" {
		in.dir = filepath.Dir(catalogPath)
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
	return in, nil
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
	for ns, raw := range in.documents {
		document, err := catalog.CheckDocument(raw)
		if err != nil {
			return Settings{}, fmt.Errorf("cannot read an imported catalog: %w", err)
		}
		documents[ns], owned[ns] = raw, document.Keys
	}
	cat, err := catalog.FromDocument(in.catalog, catalog.DocumentOptions{Imports: in.manifest, Documents: documents})
	if err != nil {
		return Settings{}, fmt.Errorf("invalid catalog: %w", err)
	}
	f := in.parsed
	s := Settings{
		Catalog: cat, GateNames: f.GateNames, VisibilityNames: f.VisibilityNames, Exclude: f.Exclude,
		ServerFilePatterns: f.ServerFilePatterns, ForbidClientIdentifiers: f.ForbidClientIdentifiers,
		ImportSource: f.ImportSource, ImplicitImports: f.ImplicitImports, OwnerKeys: owned, ImplicitImportAllow: f.ImplicitImportAllow,
		Tests: f.Go.Tests, ClientPackages: f.Go.ClientPackages, ServerFunctions: f.Go.ServerFunctions,
		ClientFilePatterns: f.Go.ClientFilePatterns, Dir: in.dir,
	}
	return s, nil
}

var errNoConfig = errors.New("no configuration: name one by -config or a catalog by -catalog, or put " + DefaultConfig +
	" into the folder of the package or one above it")

// findConfig resolves the name of a configuration, "" for the default one, from
// a folder upwards: go vet runs its tool in the folder of each package.
func findConfig(name, from string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	wanted := name
	if wanted == "" {
		wanted = DefaultConfig
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
	return "", fmt.Errorf("cannot read config %s: neither in %s nor in a folder above it", name, from)
}
