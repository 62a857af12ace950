package main

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// People and recorded resources are listed by what their ids begin with, and grants get
// another end without another id, over the socket.
func TestPeopleAndResourcesAreListedAndGrantsProlonged(t *testing.T) {
	x := newWrongWorld(t)
	x.do("revoke", "create", "zoe", "docs.files.*")
	for _, c := range []struct{ args, want string }{
		{"user list", "ann bob boss zoe"}, {"user list bob", "bob"}, {"user list nobody", ""},
		{"scope list", "docs.folder:f_1 docs.folder:f_2"}, {"scope list docs.folder:f_2", "docs.folder:f_2"}, {"scope list --parent docs.folder:f_1", "docs.folder:f_2"},
	} {
		var ids []string
		for i, line := range strings.Split(strings.TrimSpace(x.do(strings.Fields(c.args)...)), "\n") {
			if fields := strings.Fields(line); i > 0 && len(fields) > 0 {
				ids = append(ids, fields[0])
			}
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: %q, not %q", c.args, got, c.want)
		}
	}
	var before, after struct{ Grants []authz.Grant }
	x.read(&before, "grant", "list")
	ids := make([]string, len(before.Grants))
	for i, g := range before.Grants {
		ids[i] = g.ID
	}
	x.do(append([]string{"grant", "expiry", "--expires", "2999-01-01"}, ids...)...)
	x.read(&after, "grant", "list")
	for i, g := range after.Grants {
		if at, dated := g.ExpiresAt.At(); !dated || at < 32_000_000_000_000 || g.ID != ids[i] || g.Provenance != before.Grants[i].Provenance {
			t.Errorf("%+v", g)
		}
	}
	if out := x.do("grant", "expiry", ids[0], "--expires", "never"); !strings.Contains(out, ids[0]) {
		t.Error(out)
	}
}
