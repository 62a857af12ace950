package acme

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed catalog.yaml
var catalogYAML []byte

// Catalog is the catalog of the sample as YAML, ready for an application's
// configuration. The slice is the caller's.
func Catalog() []byte { return bytes.Clone(catalogYAML) }

// namespaceGroups decorates the two namespaces.
var namespaceGroups = []struct{ path, label, description string }{
	{"docs", "Documents", "The document product"},
	{"billing", "Billing", "The billing product"},
}

// navigationItem is one entry of the application's menu.
type navigationItem struct {
	label, href string
	permission  []string // one pattern, or several keys of which any will do
	children    []navigationItem
}

var navigation = []navigationItem{
	{label: "Documents", href: "/docs", permission: []string{"docs.*"}, children: []navigationItem{
		{label: "Files", href: "/docs/files", permission: []string{"docs.files.read", "docs.files.read_tree"}},
		{label: "Reviews", href: "/docs/reviews", permission: []string{"docs.reviews.*"}},
		{label: "Trash", href: "/docs/trash", permission: []string{"docs.trash.read"}},
		{label: "Settings", href: "/docs/settings", permission: []string{"docs.settings.read"}},
	}},
	{label: "Billing", href: "/billing", permission: []string{"billing.*"}, children: []navigationItem{
		{label: "Accounts", href: "/billing/accounts", permission: []string{"billing.accounts.read"}},
		{label: "Invoices", href: "/billing/invoices", permission: []string{"billing.invoices.read", "billing.invoices.read_overview"}},
		{label: "Reports", href: "/billing/reports", permission: []string{"billing.reports.*"}},
	}},
}

// renderCatalog writes the tables as the committed catalog.yaml. Blocks that
// declare no scopes are written as a plain map of keys, their metadata under
// groups, so that the sample shows both forms.
func renderCatalog() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	line("# The catalog of the sample world: a document and a billing product.")
	line("# Rendered from the Go tables beside it: go test ./examples/acme -run CatalogFileIs -update")
	line("namespaces: [docs, billing]")
	line("conventions: {depth: 3}")
	line("\nscopeTypes:")
	for _, t := range scopeTypes {
		line("  %s:", t.name)
		line("    description: %s", strconv.Quote(t.description))
		if t.parent != "" {
			line("    parent: %s", t.parent)
		}
	}
	line("\ngroups:")
	for _, g := range namespaceGroups {
		line("  %s: {label: %s, description: %s}", g.path, strconv.Quote(g.label), strconv.Quote(g.description))
	}
	for _, blk := range blocks() {
		if blk.scopes == nil {
			line("  %s: {label: %s, description: %s}", blk.path, strconv.Quote(blk.label), strconv.Quote(blk.description))
		}
	}
	line("\npermissions:")
	for _, blk := range blocks() {
		renderBlock(line, blk)
	}
	line("\nnavigation:")
	renderNavigation(line, navigation, "  ")
	line("\nconstraints:")
	line("  sod:")
	line("    - id: payment_four_eyes")
	line("      description: \"Who plans or records a payment does not approve it.\"")
	line("      sets:")
	line("        - [billing.payments.schedule_payment, billing.payments.record_payment]")
	line("        - [billing.payments.approve_payment]")
	return []byte(b.String())
}

func renderBlock(line func(string, ...any), blk block) {
	if blk.scopes == nil {
		for i, l := range blk.leaves {
			lead := "   "
			if i == 0 {
				lead = "  -"
			}
			line("%s %s.%s: %s", lead, blk.path, l.name, renderLeaf(l))
		}
		return
	}
	line("  - kind: block")
	line("    path: %s", blk.path)
	line("    group:")
	line("      label: %s", strconv.Quote(blk.label))
	line("      description: %s", strconv.Quote(blk.description))
	line("      scopes: [%s]", strings.Join(blk.scopes, ", "))
	line("    leaves:")
	for _, l := range blk.leaves {
		line("      %s.%s: %s", blk.path, l.name, renderLeaf(l))
	}
}

func renderLeaf(l leaf) string {
	members := []string{"description: " + strconv.Quote(l.does)}
	if l.scopes != nil {
		members = append(members, "scopes: ["+strings.Join(l.scopes, ", ")+"]")
	}
	for _, m := range []struct {
		mark marks
		name string
	}{{implied, "impliedOnAncestors"}, {conditional, "requiresCondition"}, {destructive, "destructive"}} {
		if l.marks&m.mark != 0 {
			members = append(members, m.name+": true")
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func renderNavigation(line func(string, ...any), items []navigationItem, indent string) {
	for _, item := range items {
		line("%s- label: %s", indent, strconv.Quote(item.label))
		line("%s  href: %s", indent, item.href)
		if len(item.permission) == 1 {
			line("%s  permission: %s", indent, strconv.Quote(item.permission[0]))
		} else {
			line("%s  permission: [%s]", indent, strings.Join(item.permission, ", "))
		}
		if len(item.children) > 0 {
			line("%s  children:", indent)
			renderNavigation(line, item.children, indent+"    ")
		}
	}
}
