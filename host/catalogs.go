package host

import (
	"errors"
	"fmt"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/catalog"
)

// CatalogFileError says that the catalog of an application cannot be used; Err
// is an *authz.CatalogError with everything wrong in it, a *catalog.SyntaxError,
// or why the file cannot be read.
type CatalogFileError struct {
	Application, Path string
	Err               error
}

func (e *CatalogFileError) Error() string {
	return fmt.Sprintf("application %q: catalog %s: %v", e.Application, e.Path, e.Err)
}

func (e *CatalogFileError) Unwrap() error { return e.Err }

// LoadCatalogs builds the catalog of every application that names one. The error
// joins a *CatalogFileError of each that cannot be built.
func LoadCatalogs(cfg *config.Config) (map[string]*catalog.Catalog, error) {
	catalogs := make(map[string]*catalog.Catalog, len(cfg.Applications))
	var faults []error
	for _, name := range sorted(cfg.Applications) {
		path := cfg.Applications[name].Catalog
		if path == "" {
			continue // which the configuration was refused for
		}
		input, err := catalog.Load(path)
		if err == nil {
			catalogs[name], err = catalog.Build(input)
		}
		if err != nil {
			faults = append(faults, &CatalogFileError{Application: name, Path: path, Err: err})
		}
	}
	return catalogs, errors.Join(faults...)
}
