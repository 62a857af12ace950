// Package served forgets to ask.
package served

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

var (
	p = authz.UserPrincipal("u_1")
	c *client.Client
	n *client.Snapshot
)

func handler(w http.ResponseWriter, r *http.Request) {} // want `\[ungated-action\] server function "handler" contains no gate — `

type page struct{ next http.Handler }

func (pg page) ServeHTTP(w http.ResponseWriter, r *http.Request) { pg.ServeHTTP(w, r) } // want `server function "ServeHTTP"`

func (*page) show(w http.ResponseWriter, r *http.Request) { // want `server function "show"`
	_ = c.Require(r.Context(), p, "docs.files.read", "") // want `unchecked-gate`
}

func routes(mux *http.ServeMux) {
	mux.HandleFunc("/a", func(w http.ResponseWriter, r *http.Request) {
		if err := c.Require(r.Context(), p, "docs.files.read", ""); err != nil {
			return
		}
	})
	mux.HandleFunc("/b", func(w http.ResponseWriter, r *http.Request) {}) // want `server function "<anonymous>"`
	mux.Handle("/c", gated("docs.files.read", listed))
	mux.HandleFunc("/d", func(http.ResponseWriter, *http.Request) { // want `<anonymous>`
		elsewhere()
	})
}

func gated(key string, h http.HandlerFunc) http.Handler { return h }

func listed(w http.ResponseWriter, r *http.Request) {}

func elsewhere() error { return c.Require(context.Background(), p, "docs.files.read", "") }

// JobNightly is a server function by its name.
func JobNightly() {} // want `server function "JobNightly"`

type worker struct{}

func (w *worker) Run() {} // want `server function "Run"`

func shown(w http.ResponseWriter, r *http.Request) {
	if ok, err := n.CanAny("docs.*"); ok && err == nil { // want `\[visibility-as-gate\] CanAny\(\) is a visibility affordance, never a gate — `
		func() {
			if ok, err := n.Holds("docs.files.read"); ok && err == nil { // want `visibility-as-gate`
				return
			}
		}()
	}
	//authz-verify-ignore-next-line unknown-pattern the wrong rule is named
	if err := n.RequireAny("docs.*"); err != nil { // want `visibility-as-gate`
		return
	}
}
