// Package table registers what it does not name.
package table

import "net/http"

func requireUser(next http.Handler) http.Handler { return next }

func a(w http.ResponseWriter, r *http.Request) {}
func b(w http.ResponseWriter, r *http.Request) {}
func c(w http.ResponseWriter, r *http.Request) {}

type route struct {
	path string
	h    http.HandlerFunc
}

var byName = map[string]http.HandlerFunc{"a": a}

func Tables(given http.Handler) {
	mux := http.NewServeMux()
	for _, r := range []route{{"/a", a}, {"/b", b}, {"/c", c}} {
		mux.HandleFunc(r.path, r.h) // want `3 server functions \(…\) cannot be followed: "h"`
	}
	mux.HandleFunc("/map", byName["a"]) // want `1 server function \(/map\) cannot be followed: "byName"`
	gated := http.NewServeMux()
	for _, r := range []route{{"/a", a}, {"/b", b}} {
		gated.Handle(r.path, requireUser(r.h))
	}
	http.ListenAndServe(":1", mux)
	http.ListenAndServe(":2", gated)
}

type registry struct{ byPath map[string]http.HandlerFunc }

func (r *registry) add(path string, h http.HandlerFunc) { r.byPath[path] = h }

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) { // want `server function "ServeHTTP" contains no gate`
	r.byPath[req.URL.Path](w, req)
}

func kept(w http.ResponseWriter, r *http.Request) {} // want `server function "kept" contains no gate`

func register(r *registry) { r.add("/kept", kept) }
