package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// about is the parameter of a report about some users; absent it is about all.
func about(users []string) fields {
	if len(users) == 0 {
		return nil
	}
	return fields{"userIds": users}
}

// reviewed prints a report about some users, or about everybody. Over the socket it is
// answered whole, elsewhere in pages, of each user by themselves.
func reviewed[T any](ctx context.Context, app *application, whole, paged string, users []string, to *listing, cells func(T) [][]string) error {
	if app.local != nil {
		return streamed(ctx, app, whole, about(users), to, cells)
	}
	asked := []fields{nil}
	if len(users) > 0 {
		asked = nil
	}
	for _, user := range users {
		asked = append(asked, about([]string{user}))
	}
	for _, p := range asked {
		if err := each(ctx, app, paged, to.member, p, 0, func(r T) error { return lined(to, r, cells) }); err != nil {
			return to.cut(err)
		}
	}
	return to.end()
}

func (a *admin) users(c *cobra.Command, users *[]string) {
	c.Flags().StringArrayVar(users, "user", nil, "only this user; repeat it for more (default: everybody)")
	a.completes(c, "user", userIDs)
}

func newSoD() *cobra.Command {
	a := &admin{}
	var users []string
	var exit bool
	c := &cobra.Command{
		Use:   "sod",
		Short: "Report who breaks separation of duties",
		Long: `Report the users who hold permissions that the catalog's constraints keep apart. With --org those
of the org's root, or with --app of one of its applications.`,
		Example: `  authz sod --exit-code
  authz sod --user u_17 -o json
  authz sod --org acme --app docs`,
		Args: cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			if err := a.asksAboutUsers(c, app, users...); err != nil {
				return err
			}
			l := a.listing(c.OutOrStdout(), "users", "USER", "CONSTRAINT", "HOLDS")
			err := reviewed(c.Context(), app, "listSodViolations", "reviewSodViolations", users, l, func(v access.Violations) (rows [][]string) {
				for _, broken := range v.Violations {
					var sets []string
					for _, s := range broken.Sets {
						sets = append(sets, "["+strings.Join(s.Keys, ", ")+"]")
					}
					rows = append(rows, []string{v.UserID, broken.ConstraintID, strings.Join(sets, " and ")})
				}
				return rows
			})
			if err == nil && exit && l.n > 0 {
				err = errDenied
			}
			return err
		}),
	}
	a.reads(c)
	a.addOrg(c)
	a.users(c, &users)
	exitCodeFlag(c, &exit)
	return c
}

func exitCodeFlag(c *cobra.Command, exit *bool) {
	c.Flags().BoolVar(exit, "exit-code", false, fmt.Sprintf("exit with %d when something is found", exitDenied))
}

func newEntitlements() *cobra.Command {
	a := &admin{}
	var users []string
	c := &cobra.Command{
		Use:   "entitlements",
		Short: "Report what everybody holds, and by which grants",
		Long: `Report every permission that the rows of users confer, with the grants that do: one line a
permission and grant. A permission that a global revoke takes is marked; revokes at narrower
scopes are listed, as they take it there only. With --org it is the rows of the org's root, or
with --app of one of its applications.`,
		Example: `  authz entitlements --user u_17
  authz entitlements -o json > access-review.json
  authz entitlements --org acme --app docs`,
		Args: cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			if err := a.asksAboutUsers(c, app, users...); err != nil {
				return err
			}
			l := a.listing(c.OutOrStdout(), "users", "USER", "PERMISSION", "SCOPE", "THROUGH", "GIVES", "EXPIRES", "GRANT")
			return reviewed(c.Context(), app, "exportEntitlements", "reviewEntitlements", users, l, entitlementRows)
		}),
	}
	a.reads(c)
	a.addOrg(c)
	a.users(c, &users)
	return c
}

func entitlementRows(u access.UserEntitlements) (rows [][]string) {
	user := u.UserID
	if !u.Active {
		user += " (inactive)"
	}
	for _, e := range u.Entitlements {
		key := e.Key
		if !e.Held {
			key += " (revoked)"
		}
		for _, s := range e.Sources {
			given := s.Pattern
			if s.RoleID != "" {
				given = "role " + s.RoleID + ": " + s.Pattern
			}
			rows = append(rows, []string{user, key, s.Scope, s.Subject, given, expiryText(s.ExpiresAt), s.GrantID})
		}
	}
	for _, r := range u.Revokes {
		rows = append(rows, []string{user, "revoked: " + r.Pattern, r.Scope, "-", "-", "-", r.RevokeID})
	}
	return rows
}

// driftReport is access.DriftReport as it arrives.
type driftReport struct {
	FromVersion int64 `json:"fromVersion"`
	ToVersion   int64 `json:"toVersion"`
	access.Drift
	Findings []access.DriftFinding `json:"findings"`
}

// drifted is the whole report. In pages a role is found again with further grants.
func drifted(ctx context.Context, app *application, since int64) (report driftReport, err error) {
	if app.local != nil {
		return report, app.long(ctx, "listWildcardDrift", fields{"sinceVersion": since}, &report)
	}
	type finding struct{ role, pattern string }
	known := map[finding]int{}
	asked := fields{"sinceVersion": since, "limit": pageSize}
	report.Findings = []access.DriftFinding{}
	for {
		var page provider.DriftPage
		if err := app.call(ctx, "reviewWildcardDrift", asked, &page); err != nil {
			return report, err
		}
		report.FromVersion, report.ToVersion, report.Drift = page.FromVersion, page.ToVersion, page.Drift
		for _, f := range page.Findings {
			if f.Via.Role != nil {
				of := finding{f.Via.Role.ID, f.Pattern}
				if at, again := known[of]; again {
					report.Findings[at].Via.GrantIDs = append(report.Findings[at].Via.GrantIDs, f.Via.GrantIDs...)
					continue
				}
				known[of] = len(report.Findings)
			}
			report.Findings = append(report.Findings, f)
		}
		if page.Next == "" {
			return report, nil
		}
		asked["after"] = page.Next
	}
}

func newDrift() *cobra.Command {
	a := &admin{}
	var since int64
	var exit bool
	c := &cobra.Command{
		Use:   "drift --since VERSION",
		Short: "Report wildcards in use that came to match new permissions",
		Long: `Compare a published version of the catalog with the newest, and report the grants and roles in
use whose wildcards match permissions that were added since: access that nobody decided on. With
--org it is the catalog and the rows of the org's root, or with --app of one of its applications.`,
		Example: `  authz drift --since 1 --exit-code
  authz drift --since 1 --org acme --app docs`,
		Args: cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			report, err := drifted(c.Context(), app, since)
			if err != nil {
				if app.local != nil && authz.CodeOf(err) == authz.CodeNotFound {
					err = fmt.Errorf("%w — 'authz catalog versions' lists those that are", err)
				}
				return err
			}
			if err := a.printed(c, report, func(w io.Writer) { printDrift(w, report) }); err != nil {
				return err
			}
			if exit && len(report.Findings) > 0 {
				return errDenied
			}
			return nil
		}),
	}
	a.reads(c)
	a.addOrg(c)
	c.Flags().Int64Var(&since, "since", 0, "the version to compare with the newest (required)")
	exitCodeFlag(c, &exit)
	a.completes(c, "since", catalogVersions)
	needs(c, "since")
	return c
}

func printDrift(w io.Writer, r driftReport) {
	fmt.Fprintf(w, "version %d to %d: %d permissions added, %d removed\n", r.FromVersion, r.ToVersion, len(r.GainedKeys), len(r.RemovedKeys))
	if len(r.Findings) == 0 {
		return
	}
	rows := [][]string{{"PATTERN", "IN", "NOW ALSO MATCHES"}}
	for _, f := range r.Findings {
		in := "?"
		switch v := f.Via; {
		case v.Grant != nil:
			in = "grant " + v.Grant.ID + " to " + v.Grant.Subject + " at " + v.Grant.Scope
		case v.Role != nil:
			in = fmt.Sprintf("role %s, which %d grants give", v.Role.ID, len(v.GrantIDs))
		}
		rows = append(rows, []string{f.Pattern, in, strings.Join(f.GainedKeys, ", ")})
	}
	table(w, rows)
}
