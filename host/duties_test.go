package host_test

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

const dutiesCatalog = `namespaces: [docs]
permissions: {docs.pay.create: true, docs.pay.approve: true}
constraints: {sod: [{id: pay, sets: [[docs.pay.create], [docs.pay.approve]]}]}
`

// The option reaches the application; its sections, reads and commits cross to
// the plugin's process.
func TestSeparationOfDutiesIsEnforcedWhereItIsConfigured(t *testing.T) {
	for extra, enforced := range map[string]bool{"": false, "    sod: {enforce: reject}\n": true} {
		cfg := configure(t, extra)
		write(t, cfg.Applications["docs"].Catalog, dutiesCatalog)
		h, _ := open(t, cfg)
		c := caller(h)
		grant := func(pattern string) error {
			return c.Call(t.Context(), "createGrant", object{"input": object{"subject": "user:u", "pattern": pattern, "provenance": root}}, nil)
		}
		if err := grant("docs.pay.create"); err != nil {
			t.Fatal(err)
		}
		err := grant("docs.pay.approve")
		if enforced && (authz.CodeOf(err) != authz.CodeConflict || !strings.Contains(err.Error(), `constraint "pay"`)) || !enforced && err != nil {
			t.Errorf("%q: the second half: %v", strings.TrimSpace(extra), err)
		}
		app, _ := h.Application("docs")
		violators := 0
		for _, err := range app.ListSodViolations(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			violators++
		}
		if want := map[bool]int{false: 1, true: 0}[enforced]; violators != want {
			t.Errorf("%q: %d violators, want %d", strings.TrimSpace(extra), violators, want)
		}
	}
}
