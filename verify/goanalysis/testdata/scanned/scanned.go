// Package scanned is for those who see whole programs.
package scanned

import "github.com/authzhost/authz/sdk/client"

func ask(n *client.Snapshot) {
	if ok, _ := n.Can("docs.files.read", ""); ok {
		_, _ = n.Explain("docs.audit.read", "")
	}
	_, _ = n.Require("crm.deals.read", ""), n.Require("docs.files.update", "") //authz-verify-ignore-line unchecked-gate
	//authz-verify-ignore-next-line unknown-pattern "docs.files.reed" was here
	if ok, err := n.CanAny("*"); ok && err == nil {
		return
	}
	// authz-verify-ignore-line
	/* authz-verify-ignore-next-line unknown-pattern block comments do not count */
	println("// authz-verify-ignore-line unknown-pattern nor do strings")
}

// authz-verify-ignore-file too late
