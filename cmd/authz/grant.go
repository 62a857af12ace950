package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func newGrant() *cobra.Command {
	c := &cobra.Command{Use: "grant", Short: "Give access, and see who was given what", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newGrantCreate(), newGrantList(), newGrantExpiry(), newGrantDelete())
	return c
}

func newGrantCreate() *cobra.Command {
	a := &admin{}
	var role, pattern, expires, file string
	c := &cobra.Command{
		Use:   "create (SUBJECT (--role ID | --pattern PATTERN) [SCOPE] | -f FILE)",
		Short: "Give a role or a pattern to somebody",
		Long: `Give a role or a pattern to a subject (user:ID, group:ID, org:ID, service:ID, directs:ID,
orgof:ID, everyone) at SCOPE; without one it is a global grant.

With -f many at once, from JSON or YAML: all of them or, when one is refused, none.

  grants:
    - {subject: "group:g_legal", role: r_editor, scope: "docs.folder:f_1"}
    - {subject: "user:u_17", pattern: docs.files.read, expires: 2027-01-31}`,
		Example: `  authz grant create user:u_17 --role r_editor docs.folder:f_1 --expires 30d
  authz grant create group:g_finance --pattern 'billing.reports.*'
  authz grant create -f grants.yaml --actor u_admin`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if file != "" {
				if len(args) > 0 || role != "" || pattern != "" || expires != "" {
					return usageError{errors.New("-f stands alone: the file says who gets what")}
				}
				return createGrants(c, a, file)
			}
			if len(args) == 0 {
				return usageError{errors.New("name the SUBJECT, such as user:u_17, or a file with -f")}
			}
			if err := exactlyOne("--role and --pattern", role != "", pattern != ""); err != nil {
				return err
			}
			until, err := expiry(expires)
			if err != nil {
				return err
			}
			in := provider.GrantInput{Subject: args[0], RoleID: role, Pattern: pattern, ExpiresAt: until}
			if len(args) > 1 {
				in.Scope = args[1]
			}
			return createGrant(c, a, in)
		},
	}
	a.writes(c)
	a.addOrg(c)
	a.doubtful(c)
	c.Flags().StringVar(&role, "role", "", "the id of the role to give")
	c.Flags().StringVar(&pattern, "pattern", "", "the permission or pattern to give, such as 'docs.files.*'")
	c.Flags().StringVar(&expires, "expires", "", "when it ends: "+instantHelp+" (default: never)")
	c.Flags().StringVarP(&file, "file", "f", "", "many grants, from JSON or YAML; - for standard input")
	_ = c.MarkFlagFilename("file", "json", "yaml", "yml")
	a.completes(c, "role", roleIDs)
	a.completes(c, "pattern", patterns)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.complete(subjects)(c, args, typed)
		}
		return a.complete(scopes)(c, args, typed)
	}
	return c
}

func createGrant(c *cobra.Command, a *admin, in provider.GrantInput) error {
	app, err := a.open(c.Context())
	if err != nil {
		return err
	}
	input := app.by(fields{"subject": in.Subject})
	for name, v := range map[string]string{"roleId": in.RoleID, "pattern": in.Pattern, "scope": in.Scope} {
		if v != "" {
			input[name] = v
		}
	}
	if !in.ExpiresAt.IsZero() {
		input["expiresAt"] = in.ExpiresAt
	}
	if wrong := errors.Join(words.CheckSubject(in.Subject), words.CheckScope(cmp.Or(in.Scope, authz.Global))); wrong != nil {
		return usageError{wrong}
	}
	if err := needsType(c.Context(), app, in.Scope); err != nil {
		return err
	}
	d := a.doubts(app)
	if err := d.subject(c.Context(), in.Subject); err != nil {
		return err
	}
	if err := d.err(); err != nil {
		return err
	}
	var result struct {
		Grant    authz.Grant `json:"grant"`
		Warnings []string    `json:"warnings,omitempty"`
	}
	if err := app.call(c.Context(), "createGrant", fields{"input": input}, &result); err != nil {
		if in.RoleID != "" {
			err = absent(c.Context(), app, err, "role", in.RoleID, roleIDs)
		}
		return err
	}
	g := result.Grant
	a.warn(c, result.Warnings)
	return a.printed(c, result, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s has %s at %s, expires %s\n", g.ID, g.Subject, grantGives(g), g.Scope, expiryText(g.ExpiresAt))
	})
}

// warn tells what the hosted API warns of; JSON holds it itself.
func (a *admin) warn(c *cobra.Command, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(c.ErrOrStderr(), "warning: "+plain(w))
	}
}

func createGrants(c *cobra.Command, a *admin, file string) error {
	var declared struct {
		Grants []apply.Grant `json:"grants"`
	}
	if err := input.Into(c.InOrStdin(), file, &declared); err != nil {
		return err
	}
	file = input.Name(file)
	if len(declared.Grants) == 0 {
		return usageError{fmt.Errorf("%s declares no grants: it needs a list under grants", file)}
	}
	if err := faulty(file, apply.CompleteGrants(declared.Grants)); err != nil {
		return err
	}
	app, err := a.open(c.Context())
	if err != nil {
		return err
	}
	inputs := make([]provider.GrantInput, len(declared.Grants))
	for i, g := range declared.Grants {
		inputs[i] = g.Input()
	}
	d := a.doubts(app)
	for _, g := range declared.Grants {
		if err := d.subject(c.Context(), g.Subject); err != nil {
			return err
		}
	}
	if err := d.err(); err != nil {
		return fmt.Errorf("no grant of %s was made: %w", file, err)
	}
	var result struct {
		Grants   []authz.Grant `json:"grants"`
		Warnings []string      `json:"warnings,omitempty"`
	}
	if err := app.long(c.Context(), "createGrants", app.by(fields{"inputs": inputs}), &result); err != nil {
		return fmt.Errorf("no grant of %s was made: %w", file, err)
	}
	a.warn(c, result.Warnings)
	return a.printed(c, result, func(w io.Writer) { fmt.Fprintf(w, "%d grants made\n", len(result.Grants)) })
}

func newGrantList() *cobra.Command {
	a := &admin{}
	var subject, scope, role string
	var found grantFlags
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List grants",
		Long: `List grants, expired ones included: they confer nothing and stay until somebody deletes them.
With --org it is the global ones, or those at --scope, and with --app those at the resources
of an application.`,
		Example: `  authz grant list --subject user:u_17
  authz grant list --by u_admin --from 7d --order newest
  authz grant list --expires-to 30d --order expiry
  authz grant list --role r_editor -o json | jq -r '.grants[].subject'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, args []string) error {
			p := filtered(c, map[string]string{"subject": "subject", "scope": "scope", "role": "roleId", "pattern": "pattern", "by": "actor"})
			op := "listGrants"
			if searched, err := found.add(c, p["filter"].(fields)); err != nil {
				return err
			} else if searched {
				op = "findGrants"
			}
			return a.opened(func(c *cobra.Command, app *application, _ []string) error {
				d := newDoubts(app, false, c.ErrOrStderr())
				if subject != "" && words.CheckSubject(subject) == nil {
					if err := d.subject(c.Context(), subject); err != nil {
						return err
					}
				}
				if role != "" {
					d.role(c.Context(), role)
				}
				if scope != "" && words.CheckScope(scope) == nil {
					if err := d.scope(c.Context(), scope); err != nil {
						return err
					}
				}
				if err := d.err(); err != nil {
					return err
				}
				l := a.listing(c.OutOrStdout(), "grants", "ID", "SUBJECT", "GIVES", "SCOPE", "EXPIRES", "BY")
				return list(c.Context(), app, op, p, limit, l, grantCells)
			})(c, args)
		},
	}
	a.reads(c)
	a.addOrg(c)
	c.Flags().StringVar(&subject, "subject", "", "only grants of this subject, such as group:writers")
	c.Flags().StringVar(&scope, "scope", "", "only grants at exactly this scope")
	c.Flags().StringVar(&role, "role", "", "only grants of this role")
	found.flags(c, a)
	c.Flags().IntVar(&limit, "limit", 0, "at most this many (default: all)")
	a.completes(c, "subject", subjects)
	a.completes(c, "scope", scopes)
	a.completes(c, "role", roleIDs)
	return c
}

// filtered is the filter of the flags that were given, by their names in it: an
// empty value filters too.
func filtered(c *cobra.Command, names map[string]string) fields {
	filter := fields{}
	for flag, name := range names {
		if f := c.Flags().Lookup(flag); f.Changed {
			filter[name] = f.Value.String()
		}
	}
	return fields{"filter": filter}
}

func grantCells(g authz.Grant) []string {
	return []string{g.ID, g.Subject, grantGives(g), g.Scope, expiryText(g.ExpiresAt), g.Provenance.Actor()}
}

func grantGives(g authz.Grant) string { return words.Gives(g.RoleID, g.Pattern) }

func newGrantExpiry() *cobra.Command {
	a := &admin{}
	var expires string
	c := &cobra.Command{
		Use:   "expiry ID... --expires (WHEN | never)",
		Short: "Let grants end at another time",
		Long: `Let grants end at another time, or never. All of them change together or, when one is refused,
none. They keep their ids, and who gave them.`,
		Example: `  authz grant expiry 5f0c1a9e-9d0b-4a4e-8a53-0f1c6a2b7d11 --expires 30d
  authz grant expiry 5f0c1a9e-9d0b-4a4e-8a53-0f1c6a2b7d11 --expires never`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if expires == "" {
				return usageError{errors.New("say with --expires when they end, or never")}
			}
			var at any
			var until authz.Expiry
			if expires != "never" {
				var err error
				if until, err = expiry(expires); err != nil {
					return err
				}
				at = until
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			entries := make([]fields, len(args))
			for i, id := range args {
				entries[i] = fields{"grantId": id, "expiresAt": at}
			}
			if err := app.call(c.Context(), "changeGrants", app.by(fields{"expire": entries}), nil); err != nil {
				if len(args) == 1 {
					err = absent(c.Context(), app, err, "grant", args[0], grantIDs)
				}
				return err
			}
			return a.printed(c, fields{"changed": args, "expiresAt": at}, func(w io.Writer) {
				for _, id := range args {
					fmt.Fprintf(w, "grant %s expires: %s\n", id, expiryText(until))
				}
			})
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().StringVar(&expires, "expires", "", "when they end: "+instantHelp+", or never")
	c.ValidArgsFunction = a.complete(grantIDs)
	return c
}

func newGrantDelete() *cobra.Command {
	return newDelete("grant", "deleteGrant", "grantId", grantIDs, "Take a grant back",
		`  authz grant delete 5f0c1a9e-9d0b-4a4e-8a53-0f1c6a2b7d11`)
}

// newDelete deletes rows by id, one after the other.
func newDelete(noun, op, field string, ids candidates, short, example string) *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "delete ID...",
		Short:   short,
		Example: example,
		Args:    cobra.MinimumNArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			if op == "deleteRole" && app.hosted == nil { // which succeeds without a role
				for _, id := range args {
					if _, err := findRole(c.Context(), app, id); err != nil {
						return err
					}
				}
			}
			for i, id := range args {
				if err := app.call(c.Context(), op, app.by(fields{field: id}), nil); err != nil {
					err = absent(c.Context(), app, err, noun, id, ids)
					return partly(fmt.Sprintf("%s %s was not deleted", noun, id), i, err)
				}
			}
			return a.deleted(c, noun, args)
		}),
	}
	a.writes(c)
	a.addOrg(c)
	c.ValidArgsFunction = a.complete(ids)
	return c
}

// partly says of a list that failed midway how much of it was done.
func partly(what string, done int, err error) error {
	if done > 0 {
		return fmt.Errorf("%s, the %d before it were: %w", what, done, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (a *admin) deleted(c *cobra.Command, noun string, ids []string) error {
	return a.printed(c, map[string][]string{"deleted": ids}, func(w io.Writer) {
		for _, id := range ids {
			fmt.Fprintf(w, "%s %s deleted\n", noun, id)
		}
	})
}

// countGrants counts the grants that a filter selects.
func countGrants(ctx context.Context, a *application, filter fields) (int64, error) {
	var result struct{ Count int64 }
	err := a.call(ctx, "countGrants", fields{"filter": filter}, &result)
	return result.Count, err
}
