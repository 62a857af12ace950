package main

import (
	"slices"
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

	// All but the first expire now, the newest of them first.
	listed := func(args ...string) (found []string) {
		t.Helper()
		var list struct{ Grants []authz.Grant }
		x.read(&list, append([]string{"grant", "list"}, args...)...)
		for _, g := range list.Grants {
			found = append(found, g.ID)
		}
		return found
	}
	if got := listed("--no-expiry"); !slices.Equal(got, ids[:1]) {
		t.Errorf("without expiry: %v, not %v", got, ids[:1])
	}
	if got := listed("--order", "expiry", "--expires-to", "3000-01-01"); len(got) != len(ids)-1 || slices.Contains(got, ids[0]) {
		t.Errorf("by expiry: %v of %v", got, ids)
	}
	newest := listed("--order", "newest", "--from", "1h")
	if len(newest) != len(ids) {
		t.Errorf("newest: %v of %v", newest, ids)
	}
	if got := listed("--order", "newest", "--limit", "1"); !slices.Equal(got, newest[:1]) {
		t.Errorf("the newest: %v, not %v", got, newest[0])
	}
	if got := listed("--by", "nobody"); len(got) != 0 {
		t.Errorf("of nobody: %v", got)
	}
	for _, wrong := range [][2]string{{"--order oldest", "id, newest or expiry"}, {"--from 1h --to 2h", "the first must be the earlier one"}, {"--no-expiry --order expiry", "leave --no-expiry out"}, {"--expires-to soon", "--expires-to"}} {
		x.fails(exitUsage, wrong[1], append([]string{"grant", "list"}, strings.Fields(wrong[0])...)...)
	}
}
