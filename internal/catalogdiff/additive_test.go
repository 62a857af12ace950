package catalogdiff_test

import (
	"testing"

	"github.com/authzhost/authz/internal/catalogdiff"
)

func TestWhatOnlyAdds(t *testing.T) {
	for _, c := range []struct {
		change catalogdiff.Change
		want   bool
	}{
		{catalogdiff.Change{Change: "added", Kind: "permission"}, true},
		{catalogdiff.Change{Change: "added", Kind: "group"}, true},
		{catalogdiff.Change{Change: "added", Kind: "scope type"}, true},
		{catalogdiff.Change{Change: "added", Kind: "section", Name: "constraints"}, false},
		{catalogdiff.Change{Change: "removed", Kind: "permission"}, false},
		{catalogdiff.Change{Change: "removed", Kind: "section", Name: "navigation"}, false},
		{catalogdiff.Change{Change: "changed", Kind: "permission", Members: []string{"description", "label"}}, true},
		{catalogdiff.Change{Change: "changed", Kind: "permission", Members: []string{"label", "scopes"}}, false},
		{catalogdiff.Change{Change: "changed", Kind: "group", Members: []string{"groups", "permissions"}}, true},
		{catalogdiff.Change{Change: "changed", Kind: "scope type", Members: []string{"description"}}, true},
		{catalogdiff.Change{Change: "changed", Kind: "scope type", Members: []string{"requestable"}}, false},
		{catalogdiff.Change{Change: "changed", Kind: "section", Name: "navigation"}, true},
		{catalogdiff.Change{Change: "changed", Kind: "section", Name: "namespaces"}, false},
		{catalogdiff.Change{Change: "changed", Kind: "of tomorrow"}, false},
	} {
		if got := c.change.Additive(); got != c.want {
			t.Errorf("%s: %v", c.change, got)
		}
	}
}
