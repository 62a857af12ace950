/*
 * authz-verify-ignore-file
 */

package scanned

import "github.com/authzhost/authz/sdk/client"

func skipped(n *client.Snapshot) {
	n.Can("docs.files.delete", "")
}
