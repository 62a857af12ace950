package compiled

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// The texts of a role may be parts of its whole row, which the book outlives.
func TestTheRoleBookKeepsNoPartOfARow(t *testing.T) {
	c, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}})
	if err != nil {
		t.Fatal(err)
	}
	row := "editor docs.* " + strings.Repeat("x", 1<<10)
	id, pattern := row[:6], row[7:13]
	var b roleBook
	b.open(NewVocabulary(c), []authz.Role{{ID: id, Patterns: []string{pattern}}})
	for kept, r := range b.roles {
		if kept != "editor" || len(r.patterns) != 1 || r.patterns[0] != "docs.*" {
			t.Fatalf("role %q of %q", kept, r.patterns)
		}
		if unsafe.StringData(kept) == unsafe.StringData(id) || unsafe.StringData(r.patterns[0]) == unsafe.StringData(pattern) {
			t.Error("a text of the book is part of the row")
		}
	}
	if len(b.roles) != 1 {
		t.Errorf("%d roles", len(b.roles))
	}
}
