package demo

import (
	"net/http"

	"github.com/authzhost/authz/sdk/authz"
)

// SignIn lets everybody in whose browser, or curl -u, says a name. No password is
// looked at: put the login of your program here. Handlers behind it find a User.
func SignIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if User(r) == (authz.Principal{}) {
			w.Header().Set("WWW-Authenticate", `Basic realm="any name, no password"`)
			http.Error(w, "sign in with any name", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// User is who sent the request.
func User(r *http.Request) authz.Principal {
	name, _, _ := r.BasicAuth()
	return authz.UserPrincipal(name)
}
