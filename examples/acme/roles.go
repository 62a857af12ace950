package acme

import "github.com/authzhost/authz/sdk/authz"

// roles are the thirty roles of the sample. Some are useful at a folder or an
// account, some at the global scope alone; r_owner is the bare "*".
func roles() []authz.Role {
	role := func(id, name string, patterns ...string) authz.Role {
		return authz.Role{ID: id, Name: name, Patterns: patterns}
	}
	return []authz.Role{
		role("r_owner", "Owner", "*"),
		role("r_viewer", "Viewer", "docs.files.read", "docs.files.read_tree", "docs.folders.read", "docs.comments.read", "docs.labels.read"),
		role("r_commenter", "Commenter", "docs.files.read", "docs.comments.read", "docs.comments.create_comment", "docs.comments.update_comment"),
		role("r_editor", "Editor", "docs.files.read", "docs.files.read_tree", "docs.files.create_file", "docs.files.update_file",
			"docs.files.rename_file", "docs.files.copy_file", "docs.comments.*", "docs.versions.read", "docs.versions.create_version"),
		role("r_publisher", "Publisher", "docs.files.read", "docs.files.publish", "docs.templates.publish"),
		role("r_librarian", "Librarian", "docs.files.*", "docs.labels.*"),
		role("r_folder_admin", "Folder administrator", "docs.folders.*", "docs.shares.*", "docs.trash.*"),
		role("r_share_manager", "Share manager", "docs.shares.*"),
		role("r_reviewer", "Reviewer", "docs.files.read", "docs.reviews.read", "docs.reviews.reject_review", "docs.comments.create_comment"),
		role("r_review_lead", "Head of reviews", "docs.reviews.*", "docs.versions.compare_versions"),
		role("r_version_keeper", "Keeper of versions", "docs.versions.*"),
		role("r_template_author", "Template author", "docs.templates.read", "docs.templates.create_template", "docs.templates.update_template"),
		role("r_records_manager", "Records manager", "docs.retention.*", "docs.files.archive", "docs.folders.archive"),
		role("r_docs_analyst", "Analyst of documents", "docs.analytics.*", "docs.search.read"),
		role("r_docs_auditor", "Auditor of documents", "docs.files.read_history", "docs.shares.read", "docs.retention.read", "docs.trash.read"),
		role("r_search_curator", "Search curator", "docs.search.*"),
		role("r_docs_admin", "Administrator of documents", "docs.*"),
		role("r_billing_viewer", "Viewer of billing", "billing.accounts.read", "billing.invoices.read", "billing.invoices.read_overview", "billing.payments.read"),
		role("r_invoice_clerk", "Invoice clerk", "billing.invoices.read", "billing.invoices.create_invoice", "billing.invoices.update_invoice", "billing.invoices.send_reminder"),
		role("r_invoice_issuer", "Invoice issuer", "billing.invoices.*"),
		role("r_payment_clerk", "Payment clerk", "billing.payments.read", "billing.payments.record_payment", "billing.payments.schedule_payment"),
		role("r_payment_approver", "Payment approver", "billing.payments.read", "billing.payments.approve_payment"),
		role("r_collections", "Collections", "billing.disputes.*", "billing.invoices.send_reminder", "billing.accounts.read_balance"),
		role("r_subscription_manager", "Subscription manager", "billing.subscriptions.*", "billing.plans.read"),
		role("r_plan_manager", "Plan manager", "billing.plans.*"),
		role("r_credit_controller", "Credit controller", "billing.credits.*", "billing.accounts.read_balance"),
		role("r_tax_specialist", "Tax specialist", "billing.taxes.*"),
		role("r_revenue_analyst", "Revenue analyst", "billing.reports.*"),
		role("r_account_manager", "Account manager", "billing.accounts.*", "billing.subscriptions.read", "billing.invoices.read"),
		role("r_billing_admin", "Administrator of billing", "billing.*"),
	}
}
