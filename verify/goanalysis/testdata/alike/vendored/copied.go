// Package vendored is someone else's, and excluded.
package vendored

import "github.com/authzhost/authz/sdk/client"

// Use asks for nothing.
func Use(n *client.Snapshot) {
	_ = n.Require("docs.files.raed", "") // alike
}
