package acme

func billingBlocks() []block {
	var (
		accounts = []string{typeAccount}
		both     = []string{typeAccount, typeInvoice}
	)
	return []block{
		{"billing.accounts", "Accounts", "Customers who pay", accounts, []leaf{
			{name: "read", does: "Open an account"},
			{name: "read_balance", does: "See what a customer owes"},
			{name: "create_account", does: "Open a new account", scopes: []string{}},
			{name: "update_account", does: "Change address and contacts"},
			{name: "merge_account", does: "Merge two accounts", marks: destructive},
			{name: "close_account", does: "Close an account", marks: destructive},
		}},
		{"billing.invoices", "Invoices", "What customers are asked to pay", both, []leaf{
			{name: "read", does: "Open an invoice"},
			{name: "read_overview", does: "See that an account has invoices", marks: implied},
			{name: "create_invoice", does: "Draft an invoice", scopes: accounts},
			{name: "update_invoice", does: "Change a draft"},
			{name: "issue", does: "Send an invoice for payment"},
			{name: "send_reminder", does: "Remind a customer"},
			{name: "void_invoice", does: "Cancel an issued invoice", marks: destructive},
			{name: "export", does: "Export invoices"},
			{name: "delete", does: "Delete a draft"},
		}},
		{"billing.payments", "Payments", "Money coming in and going back", both, []leaf{
			{name: "read", does: "See payments"},
			{name: "record_payment", does: "Record a payment"},
			{name: "schedule_payment", does: "Plan a payment"},
			{name: "approve_payment", does: "Approve a planned payment"},
			{name: "refund_payment", does: "Pay money back", marks: conditional},
			{name: "reconcile_payment", does: "Match payments with the bank"},
		}},
		{"billing.subscriptions", "Subscriptions", "What customers have booked", accounts, []leaf{
			{name: "read", does: "See subscriptions"},
			{name: "create_subscription", does: "Book a plan"},
			{name: "upgrade_subscription", does: "Move to a larger plan"},
			{name: "pause_subscription", does: "Pause a plan"},
			{name: "cancel_subscription", does: "End a plan", marks: destructive},
		}},
		{"billing.plans", "Plans", "The price list", nil, []leaf{
			{name: "read", does: "See plans and prices"},
			{name: "create_plan", does: "Add a plan"},
			{name: "update_plan", does: "Change a plan"},
			{name: "retire_plan", does: "Stop selling a plan"},
		}},
		{"billing.credits", "Credits", "Goodwill and corrections", accounts, []leaf{
			{name: "read", does: "See credits"},
			{name: "issue_credit", does: "Give a credit"},
			{name: "approve_credit", does: "Approve a credit"},
			{name: "expire_credit", does: "Let a credit lapse"},
		}},
		{"billing.disputes", "Disputes", "Payments that customers contest", both, []leaf{
			{name: "read", does: "See disputes"},
			{name: "open_dispute", does: "Record a dispute"},
			{name: "answer_dispute", does: "Answer with evidence"},
			{name: "settle_dispute", does: "Settle a dispute"},
		}},
		{"billing.taxes", "Taxes", "Rates and exemptions", accounts, []leaf{
			{name: "read", does: "See rates"},
			{name: "update_rates", does: "Change rates", scopes: []string{}},
			{name: "grant_exemption", does: "Exempt an account"},
			{name: "export", does: "Export for the tax office"},
		}},
		{"billing.reports", "Reports", "Revenue and its forecast", accounts, []leaf{
			{name: "read", does: "Read reports"},
			{name: "read_forecast", does: "Read the forecast"},
			{name: "create_report", does: "Define a report"},
			{name: "export", does: "Export a report"},
		}},
		{"billing.settings", "Settings", "The billing product as a whole", nil, []leaf{
			{name: "read", does: "See the settings"},
			{name: "update_gateway", does: "Change the payment gateway"},
			{name: "update_numbering", does: "Change how invoices are numbered"},
			{name: "manage_currencies", does: "Choose currencies"},
		}},
	}
}
