package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/words"
)

func newRegistry() *cobra.Command {
	c := &cobra.Command{Use: "registry", Short: "The catalogs that an org's applications published", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newRegistryList(), newRegistryShow(), newRegistryDocument(), newRegistryDrift())
	return c
}

func (a *admin) namespaces() cobra.CompletionFunc {
	return first(offers(a, "registry", "namespaces", func(s registry.Summary) string { return s.Namespace }))
}

func orNever(n *int64, show func(int64) string) string {
	if n == nil {
		return "-"
	}
	return show(*n)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func newRegistryList() *cobra.Command {
	a := &admin{}
	var limit int
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the namespaces, with what was last published",
		Example: `  authz registry list`,
		Args:    cobra.NoArgs,
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, _ []string) error {
			l := a.listing(c.OutOrStdout(), "namespaces", "NAMESPACE", "APPLICATION", "VERSION", "PUBLISHED", "KEYS", "TOMBSTONES")
			return all(c, h, []string{"registry"}, nil, limit, l, func(s registry.Summary) []string {
				return []string{s.Namespace, textOr(s.Application), orNever(s.Version, decimal), orNever(s.PublishedAt, words.Instant), strconv.Itoa(s.Keys), strconv.Itoa(s.Tombstones)}
			})
		}),
	}
	a.hostedOnly(c)
	c.Flags().IntVar(&limit, "limit", 0, "at most this many (0: all)")
	return c
}

func newRegistryShow() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "show NAMESPACE",
		Short:   "Show the versions of a namespace, and the keys that are gone",
		Example: `  authz registry show docs`,
		Args:    cobra.ExactArgs(1),
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			var ns registry.Namespace
			if err := h.Ask(c.Context(), http.MethodGet, []string{"registry", args[0]}, nil, nil, &ns); err != nil {
				return err
			}
			return a.printed(c, ns, func(w io.Writer) {
				rows := [][]string{{"VERSION", "PUBLISHED", "BY", "ADDED", "TOMBSTONED"}}
				for _, v := range ns.Versions {
					rows = append(rows, []string{decimal(v.Version), words.Instant(v.PublishedAt), v.Publisher, orDash(strings.Join(v.AddedKeys, ", ")), orDash(strings.Join(v.TombstonedKeys, ", "))})
				}
				table(w, rows)
				for _, t := range ns.Tombstones {
					fmt.Fprintf(w, "gone since version %d: %s (%s)\n", t.TombstonedVersion, plain(t.Key), words.Instant(t.TombstonedAt))
				}
			})
		}),
	}
	a.hostedOnly(c)
	c.ValidArgsFunction = a.namespaces()
	return c
}

func newRegistryDocument() *cobra.Command {
	a := &admin{}
	var of int64
	c := &cobra.Command{
		Use:   "document NAMESPACE",
		Short: "Print a published catalog document",
		Long:  `Print the document of a namespace as it was published: what 'authz-verify codegen' reads.`,
		Example: `  authz registry document docs > catalog.json
  authz registry document docs --version 3`,
		Args: cobra.ExactArgs(1),
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			query := fields{}
			if c.Flags().Changed("version") {
				query["version"] = of
			}
			var document json.RawMessage
			if err := h.Ask(c.Context(), http.MethodGet, []string{"registry", args[0], "document"}, query, nil, &document); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n", document)
			return err
		}),
	}
	a.hostedOnly(c)
	c.ValidArgsFunction = a.namespaces()
	c.Flags().Int64Var(&of, "version", 0, "that of this version (default: the newest)")
	return c
}

func newRegistryDrift() *cobra.Command {
	a := &admin{}
	var exit bool
	c := &cobra.Command{
		Use:   "drift",
		Short: "Report roles, grants and imports that name permissions which are gone",
		Long: `Report the roles and grants of the org root and of every application whose patterns match no
published permission, and the imports of what another application has taken back. It
repairs nothing. An application that cannot be asked is named; with --exit-code that is a failure,
since what it has is not known.`,
		Example: `  authz registry drift --exit-code`,
		Args:    cobra.NoArgs,
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, _ []string) error {
			var d registry.Drift
			if err := h.Ask(c.Context(), http.MethodGet, []string{"registry", "drift"}, nil, nil, &d); err != nil {
				return err
			}
			if err := a.printed(c, d, func(w io.Writer) { printRegistryDrift(w, d) }); err != nil {
				return err
			}
			for _, u := range d.Unavailable {
				fmt.Fprintf(c.ErrOrStderr(), "warning: what %s has is missing: %s\n", plain(u.Application), plain(u.Code))
			}
			switch {
			case !exit:
				return nil
			case len(d.Roles)+len(d.Grants)+len(d.Imports) > 0:
				return errDenied
			case len(d.Unavailable) > 0:
				return fmt.Errorf("%d applications could not be asked: what they have is not known", len(d.Unavailable))
			}
			return nil
		}),
	}
	a.hostedOnly(c)
	exitCodeFlag(c, &exit)
	return c
}

func printRegistryDrift(w io.Writer, d registry.Drift) {
	if len(d.Roles)+len(d.Grants)+len(d.Imports) == 0 {
		fmt.Fprintln(w, "everything that is named is published")
		return
	}
	rows := [][]string{{"APPLICATION", "WHERE", "PATTERN", "WHY"}}
	missing := func(application, where string, list []registry.Missing) {
		for _, m := range list {
			why := string(m.Reason)
			if m.Since != nil {
				why += " " + words.Instant(*m.Since)
			}
			rows = append(rows, []string{orDash(application), where, m.Pattern, why})
		}
	}
	for _, r := range d.Roles {
		missing(r.Application, "role "+r.RoleID, r.Missing)
	}
	for _, g := range d.Grants {
		missing(g.Application, "grant "+g.GrantID+" to "+g.Subject+" at "+g.Scope, g.Missing)
	}
	for _, i := range d.Imports {
		rows = append(rows, []string{i.Application, "import of " + i.Namespace, i.Pattern, i.Message})
	}
	table(w, rows)
}
