package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func newScope() *cobra.Command {
	c := &cobra.Command{Use: "scope", Short: "Resources: where they belong, and clearing up after them", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newScopeList(), newScopeParents(), newScopeDelete())
	return c
}

func newScopeList() *cobra.Command {
	a := &admin{}
	var parent string
	var limit int
	c := &cobra.Command{
		Use:   "list [PREFIX]",
		Short: "List the resources whose parents are recorded",
		Long: `List the resources whose parents the host keeps (ancestry.kind stored): all of them, those that
begin with PREFIX, or with --parent those directly below one.`,
		Example: `  authz scope list docs.doc:
  authz scope list --parent docs.folder:f_1`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			filter := fields{}
			if parent != "" {
				if err := errors.Join(words.CheckScope(parent), needsType(c.Context(), app, parent)); err != nil {
					return usageError{err}
				}
				filter["parent"] = parent
			}
			if len(args) > 0 {
				filter["prefix"] = args[0]
			}
			l := a.listing(c.OutOrStdout(), "scopes", "SCOPE", "PARENTS")
			return list(c.Context(), app, "listRecordedScopes", fields{"filter": filter}, limit, l, func(s provider.RecordedScope) []string {
				return []string{s.Scope, strings.Join(s.Parents, " ")}
			})
		}),
	}
	a.reads(c)
	a.addOrg(c)
	c.Flags().StringVar(&parent, "parent", "", "only those directly below this one")
	c.Flags().IntVar(&limit, "limit", 0, "at most this many")
	a.completes(c, "parent", scopes)
	c.ValidArgsFunction = a.complete(scopes)
	return c
}

func newScopeParents() *cobra.Command {
	a := &admin{}
	var none, forget bool
	c := &cobra.Command{
		Use:   "parents SCOPE [PARENT...]",
		Short: "Show the ancestors of a resource, or record its parents",
		Long: `Show the ancestors of a resource, nearest first, or record its parents where the host keeps
them (ancestry.kind stored): the PARENTs given, or with --none that it is a root. With
--forget the host knows nothing of it any more.`,
		Example: `  authz scope parents docs.doc:d_1
  authz scope parents docs.doc:d_1 docs.folder:f_9`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			parents, change, err := replacement(args[1:], none)
			if err != nil {
				return err
			}
			if forget && change {
				return usageError{errors.New("--forget stands alone")}
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			if !change && !forget {
				if err := errors.Join(words.CheckScope(args[0]), needsType(c.Context(), app, args[0])); err != nil {
					return usageError{err}
				}
			}
			entry := fields{"scope": args[0], "parents": parents}
			if forget {
				entry["parents"] = nil
			}
			if change || forget {
				if err := app.call(c.Context(), "setScopeParents", app.by(fields{"entries": []fields{entry}}), nil); err != nil {
					return err
				}
			}
			if forget {
				return a.printed(c, entry, func(w io.Writer) { fmt.Fprintf(w, "nothing is recorded of %s\n", args[0]) })
			}
			var result struct {
				Ancestors []string `json:"ancestors"`
			}
			if err := app.call(c.Context(), "resolveAncestors", fields{"scope": args[0]}, &result); err != nil {
				if change {
					err = fmt.Errorf("the parents of %s are recorded, but its ancestors cannot be resolved yet: %w", args[0], err)
				}
				return err
			}
			if len(result.Ancestors) == 0 && args[0] != authz.Global {
				fmt.Fprintf(c.ErrOrStderr(), "warning: nothing is recorded of %s, and no ancestors are known\n", spell.Quote(args[0]))
			}
			return a.printed(c, result, func(w io.Writer) { lines(w, result.Ancestors) })
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().BoolVar(&none, "none", false, "record that it has no parent")
	c.Flags().BoolVar(&forget, "forget", false, "record nothing of it")
	c.ValidArgsFunction = a.complete(scopes)
	return c
}

func newScopeDelete() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "delete SCOPE",
		Short: "Remove the rows at a resource that is gone",
		Long: `Remove every grant and revoke at exactly this resource and cancel the pending requests for
it, so that a reused id inherits nothing. Rows at resources below it stay: delete these too.`,
		Example: `  authz scope delete docs.doc:d_1 --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			if wrong := words.CheckScope(args[0]); wrong != nil {
				return usageError{wrong}
			}
			d := newDoubts(app, false, c.ErrOrStderr())
			if err := errors.Join(d.scope(c.Context(), args[0]), d.err()); err != nil {
				return err
			}
			n, err := countGrants(c.Context(), app, fields{"scope": args[0]})
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Delete all rows at %s, %d grants among them?", args[0], n)
			if err := a.sure(c, question); err != nil {
				return err
			}
			return clean(c, a, app, "deleteScope", "scope", args[0])
		}),
	}
	a.writes(c)
	a.addOrg(c)
	a.asks(c)
	c.ValidArgsFunction = a.argument(scopes)
	return c
}
