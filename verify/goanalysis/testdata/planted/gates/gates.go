// Package gates asks and does not listen, and leaves conditions out.
package gates

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

var (
	ctx = context.Background()
	p   = authz.UserPrincipal("u_1")
	c   *client.Client
	n   *client.Snapshot
)

func mustMay(key string)                          {}
func gated(key string, o ...any) http.Handler     { return nil }
func audit(ctx context.Context, key string) error { return nil }
func condition(context.Context) (bool, error)     { return true, nil }
func use(...any)                                  {}

type desk struct{}

func (*desk) admit(key string) (bool, error) { return true, nil }

// denied is an error, verdict an answer of another kind.
type (
	denied  struct{}
	verdict struct{ allowed bool }
)

func (*denied) Error() string { return "denied" }

func demand(key string) *denied                  { return nil }
func weigh(key string) verdict                   { return verdict{} }
func attempt(key string) (bool, *denied)         { return true, nil }
func lookup(key string) (name string, d *denied) { return "", nil }

func unchecked(d *desk) {
	c.Require(ctx, p, "docs.files.read", "")                      // want `\[unchecked-gate\] decision of Require\(\) is discarded — `
	(c.Can(ctx, p, "docs.files.read", ""))                        // want `decision of Can\(\) is discarded`
	go c.Require(ctx, p, "docs.files.read", "")                   // want `unchecked-gate`
	defer c.Require(ctx, p, "docs.files.read", "")                // want `unchecked-gate`
	_ = c.Require(ctx, p, "docs.files.read", "")                  // want `unchecked-gate`
	_, err := n.Can("docs.files.read", "")                        // want `unchecked-gate`
	_, _ = n.Can("docs.files.read", "")                           // want `unchecked-gate`
	var _, two = n.CanAny("docs.files.*")                         // want `decision of CanAny\(\)`
	var _ error = n.Require("docs.files.read", "")                // want `unchecked-gate`
	a, _ := 1, n.RequireAny("docs.*")                             // want `decision of RequireAny\(\)`
	n.RequireGate(client.Gate{Keys: []string{"docs.files.read"}}) // want `decision of RequireGate\(\)`
	audit(ctx, "docs.files.read")                                 // want `decision of audit\(\)`
	d.admit("docs.files.read")                                    // want `decision of admit\(\)`
	go mustMay("docs.files.read")                                 // want `decision of mustMay\(\)`
	gated("docs.files.read")                                      // want `decision of gated\(\)`
	demand("docs.files.read")                                     // want `decision of demand\(\)`
	_ = demand("docs.files.read")                                 // want `decision of demand\(\)`
	weigh("docs.files.read")                                      // want `decision of weigh\(\)`
	_ = weigh("docs.files.read")                                  // want `decision of weigh\(\)`
	_, no := attempt("docs.files.read")                           // want `decision of attempt\(\)`
	name, _ := lookup("docs.files.read")                          // want `decision of lookup\(\)`
	var _ = gated("docs.files.read")                              // want `decision of gated\(\)`
	use(err, two, a, no, name)
}

func missing(g func(context.Context) (bool, error)) {
	use(n.Can("docs.files.approve", ""))                                                            // want "\\[missing-condition\\] \"docs.files.approve\" is declared `requiresCondition: true` — .*{ condition: \\(\\) => … }.*MissingConditionError"
	use(n.Check(client.Gate{Keys: []string{"docs.files.approve"}}))                                 // want `missing-condition`
	use(n.Check(client.Gate{Keys: []string{"docs.files.approve", "docs.files.purge"}, Scope: "*"})) // want `"docs.files.approve" or "docs.files.purge" are declared`
	use(n.Check(client.Gate{Keys: []string{"docs.files.approve"}, Condition: nil}))                 // want `missing-condition`
	use(audit(ctx, "docs.files.approve"))                                                           // want `missing-condition`
	use(gated("docs.files.approve", nil))                                                           // want `missing-condition`
}
