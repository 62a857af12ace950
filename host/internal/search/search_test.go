package search_test

import (
	"testing"

	"github.com/authzhost/authz/host/internal/search"
)

func TestFinds(t *testing.T) {
	for _, c := range []struct {
		typed string
		texts []string
		found bool
	}{
		{"", nil, true},
		{"  ", []string{"x"}, true},
		{"ann", []string{"Ann Lee"}, true},
		{"LEE", []string{"Ann Lee"}, true},
		{"nn", []string{"Ann Lee"}, false},
		{"ann l", []string{"Ann Lee"}, true},
		{"lee ann", []string{"Ann Lee"}, false},
		{"example", []string{"", "ann@example.com"}, true},
		{"élo", []string{"Zoé Éloïse"}, true},
		{"r_ed", []string{"r_editor"}, true},
		{"editor", []string{"r_editor"}, true},
		{"-", []string{"a-b"}, false},
		{"x", nil, false},
	} {
		if search.Finds(c.typed, c.texts...) != c.found {
			t.Errorf("%q in %q: %v", c.typed, c.texts, !c.found)
		}
	}
}
