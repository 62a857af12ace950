package account

import "github.com/authzhost/authz/sdk/authz"

// Rows of cloud.* vocabulary, which the hosted service owns. Grants lie under their
// subject, revokes under their user.
var (
	Grants  = Collection[authz.Grant]{Name: "grants", Key: func(g authz.Grant) string { return g.Subject }}
	Revokes = Collection[authz.Revoke]{Name: "revokes", Key: func(r authz.Revoke) string { return r.UserID }}
	Roles   = Collection[authz.Role]{Name: "roles"}
)
