package authztest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Catalog builds the catalog that a file declares, which ends .json, .yaml or .yml. The
// test ends with everything that is wrong in it.
func Catalog(t testing.TB, file string) *catalog.Catalog {
	t.Helper()
	in, err := catalog.Load(file)
	if err != nil {
		t.Fatalf("authztest: %v", err)
	}
	return build(t, file, in)
}

// ParseCatalog is Catalog of a text, JSON or YAML.
func ParseCatalog(t testing.TB, text string) *catalog.Catalog {
	t.Helper()
	in, err := catalog.ParseYAML([]byte(text)) // of which JSON is a part
	if err != nil {
		t.Fatalf("authztest: %v", err)
	}
	return build(t, "catalog", in)
}

func build(t testing.TB, name string, in catalog.Input) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Build(in)
	var wrong *authz.CatalogError
	if errors.As(err, &wrong) {
		var b strings.Builder
		for _, issue := range in.Locate(wrong.Issues) {
			fmt.Fprintf(&b, "\n  %s:%d:%d: %s: %s", name, issue.Line, issue.Column, issue.Path, issue.Message)
		}
		t.Fatalf("authztest: the catalog does not build:%s", b.String())
	}
	if err != nil {
		t.Fatalf("authztest: %s: %v", name, err)
	}
	return c
}
