// Package own has a router of its own.
package own

import "net/http"

type Router interface {
	Handle(path string, h http.Handler)
	HandleFunc(path string, h http.HandlerFunc)
	Use(func(http.Handler) http.Handler)
}

func requireUser(next http.Handler) http.Handler { return next }

func read(w http.ResponseWriter, r *http.Request)  {}
func write(w http.ResponseWriter, r *http.Request) {}

func Mount(r Router, admin Router) {
	r.HandleFunc("/read", read) // want `server function "read" \(/read\) is registered on a router that nothing here serves`
	r.Handle("/write", requireUser(http.HandlerFunc(write)))
	admin.Use(requireUser)
	admin.HandleFunc("/write", write)
}
