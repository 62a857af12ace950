package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/goanalysis"
	"github.com/authzhost/authz/verify/modules"
)

// subject is what is checked, except the sources.
type subject struct {
	config config.Config
	verify verify.Config       // without files
	goCode *goanalysis.Checker // nil: no Go source is read

	// documents are the files that it was made from, by path.
	documents map[string]json.RawMessage
}

// load reads the catalog and what belongs to it, as the configuration says.
func load(c *config.Config) (*subject, error) {
	s := &subject{config: *c, documents: map[string]json.RawMessage{}}
	document, err := s.read(c.Catalog)
	if err != nil {
		return nil, fmt.Errorf("cannot read catalog %s: %w", c.Catalog, err)
	}
	built, err := catalog.FromDocument(document, catalog.DocumentOptions{})
	if err != nil {
		return nil, &invalidError{c.Catalog, err}
	}
	owners, keys, err := s.owners()
	if err == nil && c.ImportManifest != "" {
		built, err = s.importing(document, owners)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read an imported catalog: %w", err)
	}
	s.verify = verify.Config{
		Catalog:                 built,
		GateNames:               append(verify.DefaultGateNames(), c.GateNames...),
		VisibilityNames:         append(verify.DefaultVisibilityNames(), c.VisibilityNames...),
		ServerFilePatterns:      append(verify.DefaultServerFilePatterns(), c.ServerFilePatterns...),
		ForbidClientIdentifiers: c.ForbidClientIdentifiers,
		ImportSource:            verify.ImportSource(c.ImportSource),
		ImplicitImports:         verify.Policy(c.ImplicitImports),
		ImplicitImportAllow:     c.ImplicitImportAllow,
		OwnerKeys:               keys,
	}
	if c.Judge == config.JudgeExports {
		s.verify.Exports = &verify.Exports{
			GateWrappers: c.GateWrappers, PassThroughWrappers: c.PassThroughWrappers, PublicWrappers: c.PublicWrappers,
			GateMiddleware: c.GateMiddleware, RefusalsGate: c.RefusalsGate, Resolve: modules.New().Resolve,
		}
		for _, p := range slices.Sorted(maps.Keys(c.Exempt)) {
			s.verify.Exports.Exempt = append(s.verify.Exports.Exempt, verify.Exemption{Pattern: p, Reason: c.Exempt[p]})
		}
	}
	if c.Go != nil {
		err = s.readGo(built, keys)
	}
	return s, err
}

func (s *subject) readGo(built *catalog.Catalog, keys map[string][]string) error {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // as the go command tells paths
	}
	if err == nil {
		s.goCode, err = goanalysis.New(goanalysis.SettingsOf(&s.config, built, keys, dir))
	}
	return err
}

func (s *subject) read(path string) (json.RawMessage, error) {
	raw, err := readJSON(path)
	if err == nil {
		s.documents[path] = raw
	}
	return raw, err
}

// owners reads the documents of other applications: whole, and their keys, both by
// namespace.
func (s *subject) owners() (documents map[string]json.RawMessage, keys map[string][]string, err error) {
	documents, keys = map[string]json.RawMessage{}, map[string][]string{}
	for _, ns := range slices.Sorted(maps.Keys(s.config.Imports)) {
		path := s.config.Imports[ns]
		raw, err := s.read(path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		if keys[ns], err = goanalysis.OwnerKeys(ns, raw); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		documents[ns] = raw
	}
	return documents, keys, nil
}

// importing builds the catalog again, with its manifest.
func (s *subject) importing(document json.RawMessage, owners map[string]json.RawMessage) (*catalog.Catalog, error) {
	path := s.config.ImportManifest
	manifest, err := s.read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	built, err := catalog.FromDocument(document, catalog.DocumentOptions{Imports: manifest, Documents: owners})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return built, nil
}
