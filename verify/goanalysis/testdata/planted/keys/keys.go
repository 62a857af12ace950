// Package keys names permissions wrongly, in every way that Go spells a string
// and calls a method.
package keys

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

const (
	mistyped = "docs.files.raed"
	area     = "docs.files"
	wild     = area + ".*"
)

type key string

var (
	ctx = context.Background()
	p   = authz.UserPrincipal("u_1")
	c   *client.Client
	n   *client.Snapshot
	s   *client.Session
	z   *client.SessionSnapshot
)

type desk struct {
	*client.Client
	inner struct{ *client.Snapshot }
}

type guard interface{ Source }

// Source is the client's own interface only by embedding.
type Source interface{ client.Source }

func use(...any) {}

func shapes() {
	use(c.Can(ctx, p, "docs.files.raed", ""))                                  /* fix "docs.files.read" */ // want `\[unknown-pattern\] "docs.files.raed" is not in the catalog \(typo, or an undeclared key\) — did you mean "docs.files.read"\?`
	use(c.Fresh(ctx, p, "docs.files.raed", ""))                                /* fix "docs.files.read" */ // want `unknown-pattern`
	use(c.Require(ctx, p, "docs.files.raed", ""))                              /* fix "docs.files.read" */ // want `unknown-pattern`
	use(c.Check(ctx, p, client.Gate{Keys: []string{"docs.files.raed"}}))       /* fix "docs.files.read" */ // want `unknown-pattern`
	use(c.RequireGate(ctx, p, client.Gate{Keys: []string{"docs.files.raed"}})) /* fix "docs.files.read" */ // want `unknown-pattern`
	use(c.CanAny(ctx, p, "docs.fils.*"))                                       /* fix "docs.files.*" */    // want `unknown-pattern`
	use(c.RequireAny(ctx, p, "docs.fils.*"))                                   /* fix "docs.files.*" */    // want `unknown-pattern`
	use(c.Holds(ctx, p, "docs.files.raed"))                                    /* fix "docs.files.read" */ // want `unknown-pattern`
	use(c.GrantedScopes(ctx, p, "docs.files.raed"))                            /* fix "docs.files.read" */ // want `unknown-pattern`
	use(c.Explain(ctx, p, "docs.files.raed", "*"))                             /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.Can("docs.files.raed", ""))                                          /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.Require("docs.files.raed", ""))                                      /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.CanAny("docs.files.raed"))                                           /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.GrantedScopes("docs.files.raed"))                                    /* fix "docs.files.read" */ // want `unknown-pattern`
	use(s.Can(ctx, "docs.files.raed", ""))                                     /* fix "docs.files.read" */ // want `unknown-pattern`
	use(s.Check(ctx, client.Gate{Keys: []string{"docs.files.raed"}}))          /* fix "docs.files.read" */ // want `unknown-pattern`
	use(z.Require("docs.files.raed", ""))                                      /* fix "docs.files.read" */ // want `unknown-pattern`
	use(z.Holds("docs.files.raed"))                                            /* fix "docs.files.read" */ // want `unknown-pattern`
}

func spellings(d desk, keys []string) {
	use(n.Can(`docs.files.raed`, ""))                                         /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.Can(("docs.files.raed"), ""))                                       /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.Can("docs.files.\x72aed", ""))                                      /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.Can(mistyped, ""))                                                  // want `unknown-pattern`
	use(n.Can(area+".raed", ""))                                              // want `"docs.files.raed"`
	use(n.Can(string(key("docs.files.raed")), ""))                            // want `unknown-pattern`
	use(n.Check(client.Gate{Keys: []string{"docs.files.read", mistyped}}))    // want `unknown-pattern`
	use(n.Check(client.Gate{[]string{1: "docs.files.raed"}, "", false, nil})) /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n.Check((client.Gate{Scope: "docs.folder:1", Keys: []string{area}}))) // want `"docs.files" is a group, not a key — .* did you mean "docs.files.\*"`
	use((*client.Snapshot).Can(n, "docs.files.raed", ""))                     /* fix "docs.files.read" */ // want `unknown-pattern`
	use(d.Can(ctx, p, "docs.files.raed", ""))                                 /* fix "docs.files.read" */ // want `unknown-pattern`
	use(d.inner.Can("docs.files.raed", ""))                                   /* fix "docs.files.read" */ // want `unknown-pattern`
	use(d.Client.Unobserved().Can(ctx, p, "docs.files.raed", ""))             /* fix "docs.files.read" */ // want `unknown-pattern`
	use((n.Can)("docs.files.raed", ""))                                       /* fix "docs.files.read" */ // want `unknown-pattern`
	use(n. /* here */ Can("docs.files.raed", ""))                             /* fix "docs.files.read" */ // want `unknown-pattern`
}

var early = func() any { return must(n.Holds("docs.files.raed")) }() /* fix "docs.files.read" */ // want `unknown-pattern`

func must(b bool, err error) any { return b }

func places(scope string) (bool, error) {
	if ok, err := c.Can(
		ctx,
		p,
		"docs.files.raed", /* fix "docs.files.read" */ // want `unknown-pattern`
		scope,
	); err != nil || !ok {
		return false, err
	}
	switch ok, err := n.Can("docs.files.raed", scope); { /* fix "docs.files.read" */ // want `unknown-pattern`
	case ok:
		return ok, err
	}
	checks := map[string]func() (bool, error){
		"a": func() (bool, error) { return n.Can("docs.files.raed", scope) }, /* fix "docs.files.read" */ // want `unknown-pattern`
	}
	use(checks)
	go func() {
		use(n.Can("docs.files.raed", scope)) /* fix "docs.files.read" */ // want `unknown-pattern`
	}()
	defer func() {
		use(n.Can("docs.files.raed", scope)) /* fix "docs.files.read" */ // want `unknown-pattern`
	}()
	return n.Can("docs.files.raed", scope) /* fix "docs.files.read" */ // want `unknown-pattern`
}

func misuse() {
	use(n.Can("docs.files.*", ""))                                               // want `\[unknown-pattern\] "docs.files.\*" is a pattern, not a permission key`
	use(n.Require(wild, ""))                                                     // want `"docs.files.\*" is a pattern`
	use(n.GrantedScopes("docs.*"))                                               // want `"docs.\*" is a pattern`
	use(n.Require("docs.files", ""))                                             // want `"docs.files" is a group`
	use(n.CanAny("docs.files"))                                                  /* fix "docs.files.*" */    // want `"docs.files" is a group`
	use(n.CanAny("docs"))                                                        /* fix "docs.*" */          // want `"docs" is a group`
	use(n.Can("meet.rooms.jion", ""))                                            /* fix "meet.rooms.join" */ // want `\[unknown-import\] "meet.rooms.jion"`
	use(n.CanAny("meet.*"))                                                      // want `\[unknown-import\] "meet.\*"`
	use(n.Can("crm.deals.read", ""))                                             // want `\[implicit-import\] "crm.deals.read" is in namespace "crm", which this catalog neither owns nor imports.* will throw at runtime`
	use(n.Holds("dosc.files.read"))                                              // want `implicit-import`
	use(n.Can("docs.files.updaet", ""))                                          /* fix "docs.files.update" */                 // want `unknown-pattern`
	use(must(n.Can("docs.files.reead", "")), must(n.Can("docs.audit.raed", ""))) /* fix "docs.files.read" "docs.audit.read" */ // want `"docs.files.reead"` `"docs.audit.raed"`
}
