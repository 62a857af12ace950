package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"

	"example.com/notes/permissions"
)

type service struct{ guard *client.Client }

func routes(guard *client.Client) http.Handler {
	s := service{guard}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /books/{book}", s.read)
	mux.HandleFunc("PUT /books/{book}", s.write)
	mux.HandleFunc("POST /books/{book}/publication", s.publish)
	//authz-verify-ignore-next-line ungated-action tells nothing but that the service runs
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return logged(mux)
}

// logged serves by another handler, which is the one that asks.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
	})
}

func (s service) read(w http.ResponseWriter, r *http.Request) {
	if err := s.guard.Require(r.Context(), user(r), permissions.Read, book(r)); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s service) write(w http.ResponseWriter, r *http.Request) {
	may, err := s.guard.CanFresh(r.Context(), user(r), permissions.Write, book(r))
	switch {
	case err != nil:
		refuse(w, err)
	case !may:
		w.WriteHeader(http.StatusForbidden)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s service) publish(w http.ResponseWriter, r *http.Request) {
	err := s.guard.RequireGate(r.Context(), user(r), client.Gate{
		Keys: []string{permissions.Publish}, Scope: book(r),
		Condition: func(context.Context) (bool, error) { return r.Header.Get("X-Reviewed-By") != "", nil },
	})
	if err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func book(r *http.Request) string { return "notes.book:" + r.PathValue("book") }

func refuse(w http.ResponseWriter, err error) {
	var denied *authz.AccessDeniedError
	if errors.As(err, &denied) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}
