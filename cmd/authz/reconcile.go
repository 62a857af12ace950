package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// reconciled is what reconcileRows answers (spec: application §11.3).
type reconciled struct {
	OrphanedGrants     []authz.Grant  `json:"orphanedGrants"`
	OrphanedRevokes    []authz.Revoke `json:"orphanedRevokes"`
	DanglingRoleGrants []authz.Grant  `json:"danglingRoleGrants"`
	Swept              bool           `json:"swept"`
	Superseded         int            `json:"superseded,omitempty"`
}

func newReconcile() *cobra.Command {
	a := &admin{}
	var users, orgs, scopes string
	var r reconciliation
	var empty bool
	c := &cobra.Command{
		Use:   "reconcile [--users FILE] [--orgs FILE] [--scopes FILE] [--sweep [--keep-role-grants]]",
		Short: "Report rows that name what is gone, or delete them",
		Long: `Report the grants and revokes that name users, orgs, groups, roles or resources that no longer
exist, so that a reused id inherits nothing. The files list the ids that exist, one a line or
as a JSON array; what has no file counts as existing. Groups and roles the host knows itself.
Scopes are written whole, such as docs.doc:d_1.

With --sweep everything found is deleted in one write. The host looks again then: it also
deletes rows that were not in the report. With --keep-role-grants the grants whose role is gone
stay: a role that a directory or another host brings later gives them effect again.`,
		Example: `  authz reconcile --users users.txt --scopes scopes.json --exit-code
  authz reconcile --users users.txt --sweep --yes`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			taken := 0
			for _, file := range []string{users, orgs, scopes} {
				if file == "-" {
					taken++
				}
			}
			if taken > 1 {
				return usageError{errors.New("only one list can come from standard input")}
			}
			p := fields{}
			for field, file := range map[string]string{"users": users, "orgs": orgs, "scopes": scopes} {
				if file == "" {
					continue
				}
				ids, err := input.IDs(c.InOrStdin(), file)
				if err != nil {
					return err
				}
				if len(ids) == 0 && !empty {
					return usageError{fmt.Errorf("%s lists nothing, so every row of the %s would count as orphaned: give --allow-empty if you mean that", input.Name(file), field)}
				}
				p[field] = ids
			}
			if empty && len(p) == 0 {
				return usageError{errors.New("--allow-empty is about files without ids, and none is given: name one with --users, --orgs or --scopes")}
			}
			if r.keepRoleGrants && !r.sweep {
				return usageError{errors.New("--keep-role-grants says what --sweep leaves: without it nothing is deleted")}
			}
			if taken > 0 && r.sweep && !a.yes {
				return usageError{errors.New("standard input is taken: --sweep needs --yes")}
			}
			return r.run(c, a, p)
		},
	}
	a.localOnly(c)
	a.asks(c)
	c.Flags().StringVar(&users, "users", "", "the file of the user ids that exist, - for standard input")
	c.Flags().StringVar(&orgs, "orgs", "", "the file of the org ids that exist")
	c.Flags().StringVar(&scopes, "scopes", "", "the file of the scopes that exist")
	c.Flags().BoolVar(&r.sweep, "sweep", false, "delete what is found; asks")
	c.Flags().BoolVar(&r.keepRoleGrants, "keep-role-grants", false, "with --sweep: keep the grants whose role is gone, and only report them")
	c.Flags().BoolVar(&empty, "allow-empty", false, "accept a file without ids: then none of them exist")
	exitCodeFlag(c, &r.exit)
	return c
}

// reconciliation is what is to be done about what is found.
type reconciliation struct {
	sweep, keepRoleGrants, exit bool
}

func (r reconciliation) run(c *cobra.Command, a *admin, p fields) error {
	app, err := a.open(c.Context())
	if err != nil {
		return err
	}
	if err := r.doubt(c, app, p); err != nil {
		return err
	}
	var found reconciled
	if err := app.long(c.Context(), "reconcileRows", p, &found); err != nil {
		return err
	}
	orphaned := len(found.OrphanedGrants) + len(found.OrphanedRevokes)
	n := orphaned + len(found.DanglingRoleGrants)
	doomed := n
	if r.keepRoleGrants {
		doomed = orphaned
	}
	if r.sweep && doomed > 0 {
		if !a.yes {
			r.print(c.ErrOrStderr(), found)
			if err := a.sure(c, fmt.Sprintf("Delete these %d rows?", doomed)); err != nil {
				return err
			}
		}
		p["sweep"] = true
		if r.keepRoleGrants {
			p["keepRoleGrants"] = true
		}
		found = reconciled{} // or rows of the second answer keep members of the first
		if err := app.long(c.Context(), "reconcileRows", app.by(p), &found); err != nil {
			return err
		}
	}
	if err := a.printed(c, found, func(w io.Writer) { r.print(w, found) }); err != nil {
		return err
	}
	if r.exit && n > 0 {
		return errDenied
	}
	return nil
}

// doubt warns of lists in which a type of scope is misspelt: every row at its
// resources would count as orphaned.
func (r reconciliation) doubt(c *cobra.Command, app *application, p fields) error {
	d := newDoubts(app, false, c.ErrOrStderr())
	seen := map[string]bool{}
	scopes, _ := p["scopes"].([]string)
	for _, scope := range scopes {
		if t := authz.ScopeType(scope); !seen[t] && words.CheckScope(scope) == nil {
			seen[t] = true
			if err := d.scope(c.Context(), scope); err != nil {
				return err
			}
		}
	}
	return d.err()
}

// print names the grants of roles that are gone apart: their role may come back.
func (r reconciliation) print(w io.Writer, found reconciled) {
	if found.Superseded > 0 {
		defer fmt.Fprintf(w, "%d rows are of an organization that lives in another partition, and nobody reads them: authz mesh purge\n", found.Superseded)
	}
	orphaned := [][]string{{"ROW", "ID", "OF", "GIVES OR TAKES", "SCOPE", "WHY"}}
	for _, g := range found.OrphanedGrants {
		orphaned = append(orphaned, []string{"grant", g.ID, g.Subject, grantGives(g), g.Scope, "its subject or scope is gone"})
	}
	for _, v := range found.OrphanedRevokes {
		orphaned = append(orphaned, []string{"revoke", v.ID, v.UserID, v.Pattern, v.Scope, "its user or scope is gone"})
	}
	ofRoles := [][]string{{"ROW", "ID", "OF", "GIVES OR TAKES", "SCOPE", "WHY"}}
	for _, g := range found.DanglingRoleGrants {
		ofRoles = append(ofRoles, []string{"grant", g.ID, g.Subject, grantGives(g), g.Scope, "its role is gone"})
	}
	for _, rows := range [][][]string{orphaned, ofRoles} {
		if len(rows) > 1 {
			table(w, rows)
		}
	}
	n, ofRolesGone, verb := len(orphaned)+len(ofRoles)-2, len(ofRoles)-1, "found"
	if found.Swept {
		verb = "deleted"
	}
	switch {
	case ofRolesGone == 0:
		fmt.Fprintf(w, "%d rows %s\n", n, verb)
	case r.keepRoleGrants:
		fmt.Fprintf(w, "%d rows %s, %d grants of roles that are gone kept\n", n-ofRolesGone, verb, ofRolesGone)
	default:
		fmt.Fprintf(w, "%d rows %s, %d of them grants of roles that are gone\n", n, verb, ofRolesGone)
	}
}
