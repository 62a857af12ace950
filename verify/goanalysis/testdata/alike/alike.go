// Package alike looks wrong and is not.
package alike

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

var (
	ctx = context.Background()
	p   = authz.UserPrincipal("u_1")
	c   *client.Client
	n   *client.Snapshot
	s   *client.Session
)

func use(...any) {}

// oven has the client's words for other things.
type oven struct{}

func (oven) Can(string) bool                { return true }
func (oven) Require(string) error           { return nil }
func (oven) Fresh(string) bool              { return true }
func (oven) Check(string) bool              { return true }
func (oven) CanAny(string) bool             { return true }
func (oven) RequireAny(string) error        { return nil }
func (oven) Holds(string) bool              { return true }
func (oven) Explain(string) string          { return "" }
func (oven) GrantedScopes(string) []string  { return nil }
func (oven) RequirePermission(string) error { return nil }
func (oven) GateAction(string) http.Handler { return nil }
func (oven) RequireGate(...string) error    { return nil }

type baker interface {
	Can(string) bool
	Require(string) error
	Holds(string) bool
}

type kitchen struct{ oven }

type bakery struct{ baker }

// wrapped hides the client behind a method of its own.
type wrapped struct{ *client.Snapshot }

func (wrapped) Can(dish, table string) (bool, error) { return true, nil }

func Can(string) bool      { return true }
func Require(string) error { return nil }
func Holds(string) bool    { return true }

func canOf[T any](T, string) bool { return true }

func foreign(o oven, b baker, k kitchen, y bakery, w wrapped) {
	o.Can("docs.files.raed")                     // alike
	k.Can("docs.files.raed")                     // alike
	k.oven.Can("docs.files.raed")                // alike
	(&o).Can("docs.files.raed")                  // alike
	o.Fresh("docs.files.raed")                   // alike
	k.Fresh("docs.files.raed")                   // alike
	k.oven.Fresh("docs.files.raed")              // alike
	(&o).Fresh("docs.files.raed")                // alike
	o.Check("docs.files.raed")                   // alike
	k.Check("docs.files.raed")                   // alike
	k.oven.Check("docs.files.raed")              // alike
	(&o).Check("docs.files.raed")                // alike
	o.CanAny("docs.files.raed")                  // alike
	k.CanAny("docs.files.raed")                  // alike
	k.oven.CanAny("docs.files.raed")             // alike
	(&o).CanAny("docs.files.raed")               // alike
	o.Holds("docs.files.raed")                   // alike
	k.Holds("docs.files.raed")                   // alike
	k.oven.Holds("docs.files.raed")              // alike
	(&o).Holds("docs.files.raed")                // alike
	_ = o.Require("docs.files.*")                // alike
	_ = k.Require("docs.files.*")                // alike
	_ = k.oven.Require("docs.files.*")           // alike
	_ = (&o).Require("docs.files.*")             // alike
	_ = o.RequireAny("docs.files.*")             // alike
	_ = k.RequireAny("docs.files.*")             // alike
	_ = k.oven.RequireAny("docs.files.*")        // alike
	_ = (&o).RequireAny("docs.files.*")          // alike
	_ = o.RequirePermission("docs.files.*")      // alike
	_ = k.RequirePermission("docs.files.*")      // alike
	_ = k.oven.RequirePermission("docs.files.*") // alike
	_ = (&o).RequirePermission("docs.files.*")   // alike
	_ = o.RequireGate("docs.files.*")            // alike
	_ = k.RequireGate("docs.files.*")            // alike
	_ = k.oven.RequireGate("docs.files.*")       // alike
	_ = (&o).RequireGate("docs.files.*")         // alike
	use(b.Can("docs.nothing"))                   // alike
	use(y.Can("docs.nothing"))                   // alike
	use(y.baker.Can("docs.nothing"))             // alike
	use(b.Require("docs.nothing"))               // alike
	use(y.Require("docs.nothing"))               // alike
	use(y.baker.Require("docs.nothing"))         // alike
	use(b.Holds("docs.nothing"))                 // alike
	use(y.Holds("docs.nothing"))                 // alike
	use(y.baker.Holds("docs.nothing"))           // alike
	use(o.Explain("docs.files"))                 // alike
	use(o.GrantedScopes("docs.*"))               // alike
	use(o.GateAction("docs.no"))                 // alike
	use(oven.Can(o, "docs.files.raed"))          // alike
	use(baker.Can(b, "docs.files.raed"))         // alike
	use(w.Can("docs.files.soup", "t"))           // alike
	use(Can("docs.files.raed"))                  // alike
	use(Holds("docs.files.raed"))                // alike
	use(canOf[int](1, "docs.files.raed"))        // alike
	Require("docs.files.approve")                // alike
}

func shadowed() {
	Can := func(string) bool { return true }
	Require := func(string) error { return nil }
	client := struct{ Can, Holds func(string) bool }{Can, Can}
	c := oven{}
	Can("docs.files.raed")              // alike
	client.Can("docs.files.raed")       // alike
	client.Holds("docs.files.raed")     // alike
	c.Can("docs.files.raed")            // alike
	c.CanAny("docs")                    // alike
	Require("docs.files.raed")          // alike
	_ = c.Require("docs.files.approve") // alike
}

func values() {
	f := n.Can
	g := (*client.Snapshot).Can
	h := n.Holds
	use(f("docs.files.raed", ""))                 // alike
	use(g(n, "docs.files.raed", ""))              // alike
	use(h("docs.files.raed"))                     // alike
	f("docs.files.read", "")                      // alike
	table := map[string]any{"docs.files.raed": 1} // alike
	use(table, "docs.files.raed")                 // alike
	use(access.Explanation{}, "docs.no.such")     // alike
}

// verdict is a decision of another kind than bool or error, denied one that is an error.
type (
	verdict struct{ allowed bool }
	denied  struct{}
)

func (*denied) Error() string { return "denied" }

func weigh(key string) verdict                   { return verdict{} }
func demand(key string) *denied                  { return nil }
func lookup(key string) (name string, d *denied) { return "", nil }
func mustWeigh(key string)                       {}

func heard() verdict {
	v := weigh("docs.files.read")          // alike
	use(v, weigh("docs.files.read"))       // alike
	if !weigh("docs.files.read").allowed { // alike
		return verdict{}
	}
	_, err := lookup("docs.files.read")                         // alike: the error decides
	if d := demand("docs.files.read"); d != nil || err != nil { // alike
		return v
	}
	mustWeigh("docs.files.read")         // alike: it has no answer
	_ = weigh("docs.files.read").allowed // alike: what is read of it is not followed
	return weigh("docs.files.read")      // alike
}

func right(key, scope string, keys []string, g client.Gate, cond func(context.Context) (bool, error)) (bool, error) {
	use(n.Can("docs.files.read", "docs.folder:1"))                                               // alike
	use(n.Can("docs.files.read", "*"))                                                           // alike
	use(n.Can(key, scope))                                                                       // alike
	use(n.Can(key+".raed", scope))                                                               // alike
	use(n.Can("docs.files."+key, scope))                                                         // alike
	use(n.Check(client.Gate{Keys: keys, Scope: scope}))                                          // alike
	use(n.Check(g))                                                                              // alike
	use(n.Check(client.Gate{Keys: []string{"docs.files.approve"}, Condition: cond}))             // alike
	use(n.Check(client.Gate{[]string{"docs.files.approve"}, "docs.folder:1", false, cond}))      // alike
	use(n.Check(client.Gate{Keys: []string{key, "docs.files.read"}, Scope: "docs.folder:raed"})) // alike
	use(n.CanAny("*"))                                                                           // alike
	use(n.CanAny("docs.files.*"))                                                                // alike
	use(n.CanAny("meet.rooms.leave"))                                                            // alike
	use(n.Holds("meet.rooms.join"))                                                              // alike
	use(n.Can("billing.invoices.pay", ""))                                                       // alike
	use(c.Can(ctx, authz.UserPrincipal("docs.files.raed"), "docs.files.read", ""))               // alike
	use(c.Can(context.WithValue(ctx, key, "docs.files.raed"), p, "docs.files.read", ""))         // alike
	use(s.Can(ctx, "docs.files.read", ""))                                                       // alike
	use(c.Explain(ctx, p, "docs.files.approve", "*"))                                            // alike
	use(n.GrantedScopes("docs.files.approve"))                                                   // alike
	use(n.CanAny("docs.files.approve"))                                                          // alike
	ok, err := n.Can("docs.files.read", "")                                                      // alike
	if ok, _ := n.Can("docs.files.read", ""); !ok {                                              // alike: a warning, which is not a vet's
		return false, err
	}
	use(n.Can("docs.files.raed", "")) // alike authz-verify-ignore-line unknown-pattern read back from an old export
	//authz-verify-ignore-next-line unchecked-gate warms the cache
	_, _ = n.Can("docs.files.read", "") // alike
	return ok, err
}
