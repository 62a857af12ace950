// Viewas lets an administrator look at the program as a role or as another user
// would see it. The preview lies in a cookie, which needs no protection: every
// request opens its session anew, which takes the visitor's own permission to
// preview, and each answer is the visitor's AND the preview's, so that a preview only
// ever narrows. Leaving asks for nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

var permissions = catalog.MustDefine(catalog.Input{
	Namespaces:  []string{"mail"},
	Permissions: []catalog.PermissionSet{catalog.Leaves(catalog.Key("mail.inbox.read"), catalog.Key("mail.inbox.send_mail"))},
})

var rows = demo.Rows{
	Roles: map[string][]string{"reader": {"mail.inbox.read"}, "chief": {"mail.*", client.ViewAsKey}},
	Grants: []provider.GrantInput{
		{Subject: "user:ada", RoleID: "chief"},
		{Subject: "user:bob", Pattern: "mail.inbox.*"},
	},
}

func main() {
	app, err := demo.Open(context.Background(), permissions, rows)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /view-as", viewAs)
	http.Handle("GET /", home(app.Client()))
	log.Println("try: curl -u ada: -b view_as=user:bob http://127.0.0.1:8086/")
	log.Fatal(http.ListenAndServe("127.0.0.1:8086", demo.SignIn(http.DefaultServeMux)))
}

// viewAs keeps what was chosen: "role:reader", "user:bob", or nothing to leave.
func viewAs(w http.ResponseWriter, r *http.Request) {
	cookie := &http.Cookie{Name: "view_as", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1}
	if preview := client.ParseViewAs(r.PostFormValue("as")); preview != nil {
		cookie.Value, cookie.MaxAge = url.QueryEscape(preview.String()), 3600 // ids may hold what cookies may not
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func home(guard *client.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		chosen := ""
		if cookie, err := r.Cookie("view_as"); err == nil {
			chosen, _ = url.QueryUnescape(cookie.Value)
		}
		session, err := guard.Session(r.Context(), demo.User(r).UserID, client.ParseViewAs(chosen)) // nil: no preview
		may := false
		if err == nil {
			may, err = session.Can(r.Context(), "mail.inbox.send_mail", "")
		}
		var denied *authz.AccessDeniedError
		switch {
		case errors.As(err, &denied):
			viewAs(w, r) // may not preview, or no longer: leave
		case err != nil:
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		default:
			fmt.Fprintf(w, "%s looks at the mail of %s; may send: %t\n", session.Actor().UserID, session.SubjectUserID(), may)
		}
	}
}
