// Package faulty is the service as it must not be: ten faults, each marked with
// the rule that finds it. All of it compiles.
package faulty

import (
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"

	"example.com/notes/permissions"
)

const archive = "notes.notes.archive" // removed from the catalog since

type service struct{ guard *client.Client }

// Routes serves without asking, or asks in vain.
func Routes(guard *client.Client) http.Handler {
	s := service{guard}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /books/{book}", s.read)
	mux.HandleFunc("PUT /books/{book}", s.write)
	mux.HandleFunc("DELETE /books/{book}", s.remove)
	mux.HandleFunc("POST /books/{book}/publication", s.publish)
	mux.HandleFunc("GET /export", func(w http.ResponseWriter, r *http.Request) { // fault: ungated-action
		w.WriteHeader(http.StatusOK)
	})
	return mux
}

func (s service) read(w http.ResponseWriter, r *http.Request) {
	if err := s.guard.Require(r.Context(), user(r), "notes.notes.raed", book(r)); err != nil { // fault: unknown-pattern
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if ok, err := s.guard.Can(r.Context(), user(r), "notes.notes.*", book(r)); err == nil && ok { // fault: unknown-pattern
		w.Header().Set("X-Owner", "yes")
	}
	if ok, err := s.guard.Can(r.Context(), user(r), archive, book(r)); err == nil && ok { // fault: unknown-pattern
		w.Header().Set("X-May-Archive", "yes")
	}
	if ok, err := s.guard.Can(r.Context(), user(r), "note.notes.read", book(r)); err == nil && ok { // fault: implicit-import
		w.WriteHeader(http.StatusOK)
	}
}

func (s service) write(w http.ResponseWriter, r *http.Request) {
	if ok, err := s.guard.CanAny(r.Context(), user(r), "notes.*"); err != nil || !ok { // fault: visibility-as-gate
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.guard.Require(r.Context(), user(r), permissions.Write, book(r)) // fault: unchecked-gate
	w.WriteHeader(http.StatusNoContent)
}

func (s service) remove(w http.ResponseWriter, r *http.Request) { // fault: ungated-action
	_, err := s.guard.CanFresh(r.Context(), user(r), permissions.Write, book(r)) // fault: unchecked-gate
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s service) publish(w http.ResponseWriter, r *http.Request) {
	if err := s.guard.Require(r.Context(), user(r), permissions.Publish, book(r)); err != nil { // fault: missing-condition
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func user(r *http.Request) authz.Principal { return authz.UserPrincipal(r.Header.Get("X-User")) }

func book(r *http.Request) string { return "notes.book:" + r.PathValue("book") }
