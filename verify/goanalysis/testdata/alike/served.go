package alike

import (
	"context"
	"io"
	"net/http"
)

func gated(key string, h ...http.HandlerFunc) func(http.HandlerFunc) http.Handler { return nil }

func asks(w http.ResponseWriter, r *http.Request) { // alike
	if err := c.Require(r.Context(), p, "docs.files.read", ""); err != nil {
		return
	}
	http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}).ServeHTTP(w, r) // alike
}

func asksInside(w http.ResponseWriter, r *http.Request) { // alike
	func() {
		if ok, err := c.Can(r.Context(), p, "docs.files.read", ""); err != nil || !ok {
			return
		}
	}()
}

func factory() (http.HandlerFunc, error) {
	if err := n.Require("docs.files.read", ""); err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) {}, nil // alike
}

func middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // alike
		next.ServeHTTP(w, r)
	})
}

type tracing struct{ next http.Handler }

func (t tracing) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.next.ServeHTTP(w, r) } // alike

func given(w http.ResponseWriter, r *http.Request) {} // alike: passed to a gate below

func listed[T any](w http.ResponseWriter, r *http.Request) {} // alike: passed to gates below

func paired[K, V any](w http.ResponseWriter, r *http.Request) {} // alike: passed to a gate below

type pages struct{}

func (pages) show(w http.ResponseWriter, r *http.Request) {} // alike: passed to a gate below

func routes(mux *http.ServeMux, pg pages) {
	mux.Handle("/a", gated("docs.files.read", given)(nil))
	mux.Handle("/l", gated("docs.files.read", listed[int], http.HandlerFunc(listed[string]), paired[int, string])(nil))
	mux.Handle("/b", gated("docs.files.read", pg.show)(nil))
	mux.Handle("/c", gated("docs.files.read", func(w http.ResponseWriter, r *http.Request) {})(nil))               // alike
	mux.Handle("/d", gated("docs.files.read")(func(http.ResponseWriter, *http.Request) {}))                        // alike
	mux.Handle("/e", gated("docs.files.read", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))(nil)) // alike
}

// authz-verify-ignore-next-line ungated-action says nothing that is not public
func health(w http.ResponseWriter, r *http.Request) {} // alike

func answer(w http.ResponseWriter, r *http.Request, status int) {} // alike

func reads(w io.Writer, r *http.Request) {} // alike

func fails(w http.ResponseWriter, r *http.Request) error { return nil } // alike

func byValue(w http.ResponseWriter, r http.Request) {} // alike

// Save is exported and takes a context, in a file that no server is said to run.
func Save(ctx context.Context) {} // alike

func handlerType(h http.HandlerFunc, f func(http.ResponseWriter, *http.Request)) {} // alike

type served interface {
	ServeHTTP(http.ResponseWriter, *http.Request) // alike
}
