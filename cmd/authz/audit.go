package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

func newAudit() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "The log of every write", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newAuditList(), newAuditVerify(), newAuditExport())
	return c
}

// auditFlags select entries.
type auditFlags struct{ target, actor, action, from, to string }

// add leaves --to to commands that have a default of their own for it.
func (f *auditFlags) add(c *cobra.Command, a *admin, to string) {
	c.Flags().StringVar(&f.target, "target", "", "only entries about this: a grant id, a role id, a user id, a scope")
	c.Flags().StringVar(&f.actor, "by", "", "only what this actor did, such as u_admin or import:okta")
	c.Flags().StringVar(&f.action, "action", "", "only this action, such as grant.create")
	c.Flags().StringVar(&f.from, "from", "", "not before: 2027-01-31, 2027-01-31T17:00:00Z, or a time ago: 8h, 30d")
	c.Flags().StringVar(&f.to, "to", to, "before: likewise")
	a.completes(c, "by", userIDs)
	_ = c.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(auditActions, cobra.ShellCompDirectiveNoFileComp))
}

// auditActions are the actions of the log (spec: application §16.1).
var auditActions = []string{
	"grant.create", "grant.create_bulk", "grant.change", "grant.delete", "revoke.create", "revoke.delete", "role.create", "role.update", "role.delete",
	"group.create", "group.update", "group.set_parents", "group.delete", "group.dissolve_virtual_parent", "user.set_groups",
	"user.set_active", "user.set_manager", "user.deactivate", "request.submit", "request.approved", "request.denied", "request.cancel",
	"catalog.publish", "catalog.reload", "imports.publish", "subject.delete", "scope.delete", "scope.set_parents", "reconcile.sweep",
	"directory.import_groups", "directory.import", "org.authority_received", "org.sync_applied",
}

func (f *auditFlags) filter(c *cobra.Command) (fields, error) {
	filter := filtered(c, map[string]string{"target": "target", "by": "actor", "action": "action"})["filter"].(fields)
	for name, text := range map[string]string{"from": f.from, "to": f.to} {
		if text == "" {
			continue
		}
		ms, err := parseInstant(text, time.Now(), -1)
		if err != nil {
			return nil, err
		}
		filter[name] = ms
	}
	from, bounded := filter["from"].(int64)
	if to, also := filter["to"].(int64); bounded && also && from >= to {
		return nil, usageError{fmt.Errorf("nothing lies between --from %s and --to %s: the first must be the earlier one", f.from, f.to)}
	}
	return filter, nil
}

// known warns of an action that no entry of an application's log has. The hosted API
// knows families of them too.
func (f *auditFlags) known(c *cobra.Command, hosted bool) {
	if f.action == "" || slices.Contains(auditActions, f.action) {
		return
	}
	if prefix, family := audited.Family(f.action); family && hosted && slices.ContainsFunc(auditActions, func(a string) bool { return strings.HasPrefix(a, prefix) }) {
		return
	}
	advice := "known are " + strings.Join(auditActions, ", ")
	if near := spell.Nearest(f.action, auditActions); near != "" {
		advice = "did you mean " + near + "?"
	}
	fmt.Fprintf(c.ErrOrStderr(), "warning: %s is no action that this program knows: %s\n", spell.Quote(f.action), advice)
}

func newAuditList() *cobra.Command {
	a, f := &admin{}, &auditFlags{}
	var limit int
	var user, subject string
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the newest entries, oldest first",
		Long: `Show the newest entries that are asked for, oldest first. With --org it is the log of the org
root, with --app that of an application; 'authz org audit' shows that of the org's account.
Long details are cut short; -o json has them whole. With --org, --action may name a family
of actions, such as 'grant.*'.

--target compares what an entry is filed under: a grant's own id, say. --user finds everything
about a person: what they did, what was done to their record, and every entry that names
them, as subject of grants and revokes, as manager, or as who asked for access. Where
the storage has no index of subjects, and with --org, it reads the whole log for that, or what
--from and --to leave of it. --subject takes any subject: who acted, whose record it was, and
whom an entry names. What became of somebody's requests is with --user alone.`,
		Example: `  authz audit list --user u_17
  authz audit list --subject group:g_legal --from 30d
  authz audit list --target g_42
  authz audit list --by u_admin --action grant.create --from 7d --limit 200`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 || limit > maxAuditPage {
				return usageError{fmt.Errorf("--limit must be from 1 to %d; 'authz audit export' writes everything", maxAuditPage)}
			}
			filter, err := f.filter(c)
			if err != nil {
				return err
			}
			if c.Flags().Changed("subject") {
				if err := words.CheckSubject(subject); err != nil {
					return usageError{fmt.Errorf("--subject: %w", err)}
				}
				filter["subject"] = subject
			}
			f.known(c, a.org != "")
			if a.org != "" && limit > pageSize {
				return usageError{fmt.Errorf("--limit must be from 1 to %d with --org", pageSize)}
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			l := a.listing(c.OutOrStdout(), "events", "AT", "ACTOR", "ACTION", "TARGET", "DETAIL")
			if app.hosted != nil {
				filter["details"] = "whole"
			}
			if c.Flags().Changed("user") {
				return a.listAbout(c, app, user, filter, limit, l)
			}
			filter["limit"] = limit
			return streamed(c.Context(), app, "listAuditEvents", fields{"filter": filter}, l, func(e authz.AuditEntry) [][]string {
				return [][]string{auditCells(e)}
			})
		},
	}
	a.reads(c)
	a.addOrg(c)
	f.add(c, a, "")
	c.Flags().StringVar(&user, "user", "", "everything about the user of this id")
	a.completes(c, "user", userIDs)
	c.Flags().StringVar(&subject, "subject", "", "only entries about this subject, such as user:u_17 or group:g_legal")
	c.MarkFlagsMutuallyExclusive("user", "subject")
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return c
}

// maxDetail is how many characters of an entry's detail a line shows: one of many grants
// names them all. JSON has them.
const maxDetail = 200

// maxAuditPage bounds audit list, which pages do not divide: the newest come last.
const maxAuditPage = 10_000
