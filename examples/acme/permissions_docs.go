package acme

func docsBlocks() []block {
	var (
		everywhere = []string{typeFolder, typeDoc}
		folders    = []string{typeFolder}
		documents  = []string{typeDoc}
	)
	return []block{
		{"docs.files", "Files", "Documents themselves", everywhere, []leaf{
			{name: "read", does: "Open a document"},
			{name: "read_tree", does: "See the folders that lead to a document", marks: implied},
			{name: "read_history", does: "See who changed what"},
			{name: "create_file", does: "Create a document in a folder", scopes: folders},
			{name: "update_file", does: "Edit a document"},
			{name: "rename_file", does: "Rename a document"},
			{name: "move_file", does: "Move a document to another folder"},
			{name: "copy_file", does: "Copy a document"},
			{name: "download_file", does: "Download the original"},
			{name: "lock_file", does: "Lock a document against edits"},
			{name: "publish", does: "Publish a document"},
			{name: "archive", does: "Archive a document"},
			{name: "delete", does: "Delete a document", scopes: folders},
		}},
		{"docs.folders", "Folders", "The tree that holds the documents", folders, []leaf{
			{name: "read", does: "Open a folder"},
			{name: "read_outline", does: "See that a folder exists above something readable", marks: implied},
			{name: "create_folder", does: "Create a folder below"},
			{name: "rename_folder", does: "Rename a folder"},
			{name: "move_folder", does: "Move a folder with all it holds"},
			{name: "update_settings", does: "Change a folder's settings"},
			{name: "archive", does: "Archive a folder"},
			{name: "delete", does: "Delete a folder with all it holds"},
		}},
		{"docs.comments", "Comments", "Discussions in the margin", everywhere, []leaf{
			{name: "read", does: "Read comments"},
			{name: "create_comment", does: "Write a comment"},
			{name: "update_comment", does: "Edit one's own comment"},
			{name: "resolve_thread", does: "Close a discussion"},
			{name: "delete", does: "Delete anybody's comment"},
		}},
		{"docs.shares", "Shares", "Who else may see a document", everywhere, []leaf{
			{name: "read", does: "See with whom something is shared"},
			{name: "create_share", does: "Share with a colleague"},
			{name: "create_link", does: "Create a public link"},
			{name: "update_share", does: "Change a share"},
			{name: "revoke_link", does: "Withdraw a public link", marks: destructive},
		}},
		{"docs.versions", "Versions", "Earlier states of a document", documents, []leaf{
			{name: "read", does: "Open an earlier version"},
			{name: "create_version", does: "Name the current state"},
			{name: "compare_versions", does: "Compare two versions"},
			{name: "restore_version", does: "Go back to a version"},
			{name: "purge_version", does: "Remove a version for good"},
		}},
		{"docs.reviews", "Reviews", "Approval of documents before they are published", documents, []leaf{
			{name: "read", does: "See the state of a review"},
			{name: "read_pending", does: "See that a review waits below", marks: implied, scopes: everywhere},
			{name: "start_review", does: "Ask for a review"},
			{name: "assign_reviewer", does: "Choose who reviews"},
			{name: "approve", does: "Approve a document", marks: conditional},
			{name: "reject_review", does: "Send a document back"},
		}},
		{"docs.templates", "Templates", "Documents to start from", folders, []leaf{
			{name: "read", does: "Use a template"},
			{name: "create_template", does: "Create a template"},
			{name: "update_template", does: "Edit a template"},
			{name: "publish", does: "Offer a template to everybody"},
			{name: "delete", does: "Delete a template"},
		}},
		{"docs.labels", "Labels", "Words to find documents by", everywhere, []leaf{
			{name: "read", does: "See labels"},
			{name: "create_label", does: "Invent a label"},
			{name: "assign_label", does: "Label a document"},
			{name: "remove_label", does: "Take a label off"},
		}},
		{"docs.search", "Search", "The full-text index", folders, []leaf{
			{name: "read", does: "Search in a folder"},
			{name: "rebuild_index", does: "Index a folder again"},
			{name: "tune_ranking", does: "Change the ranking", scopes: []string{}},
		}},
		{"docs.retention", "Retention", "How long documents are kept", folders, []leaf{
			{name: "read", does: "See what applies to a folder"},
			{name: "update_policy", does: "Change how long documents are kept"},
			{name: "place_hold", does: "Keep everything for a lawsuit"},
			{name: "release_hold", does: "End a legal hold", marks: destructive},
			{name: "purge_expired", does: "Remove what is past its time"},
		}},
		{"docs.trash", "Trash", "What was deleted and can still come back", folders, []leaf{
			{name: "read", does: "See deleted documents"},
			{name: "restore_item", does: "Bring a document back"},
			{name: "purge_trash", does: "Empty the trash"},
		}},
		{"docs.analytics", "Analytics", "How documents are used", folders, []leaf{
			{name: "read", does: "See figures of a folder"},
			{name: "read_summary", does: "See totals of the folders above", marks: implied},
			{name: "export", does: "Export the figures"},
		}},
		{"docs.settings", "Settings", "The document product as a whole", nil, []leaf{
			{name: "read", does: "See the settings"},
			{name: "update_branding", does: "Change logo and colours"},
			{name: "manage_quotas", does: "Change storage quotas"},
			{name: "manage_integrations", does: "Connect other products"},
		}},
	}
}
