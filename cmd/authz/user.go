package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

func newUser() *cobra.Command {
	c := &cobra.Command{Use: "user", Short: "People: their groups, manager, activity and access", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newUserList(), newUserShow(), newUserGroups(), newUserManager(),
		newUserActive("deactivate", false, "Take all access from a user until activated again",
			`Take all access from a user at once, also from one who has no record yet. Rows stay:
activate gives everything back.`),
		newUserActive("activate", true, "Give a deactivated user their access back", `Give a deactivated user back what their rows confer.`),
		newUserDelete())
	return c
}

func newUserList() *cobra.Command {
	a := &admin{}
	var limit int
	c := &cobra.Command{
		Use:   "list [PREFIX]",
		Short: "List the people that rows name",
		Long: `List the people that the rows of an application name, in records, grants, revokes, reporting and
requests; with PREFIX those whose id begins with it. With --org it is the people of the org. While
its root is an application there may be others, of whom it has no row.`,
		Example: `  authz user list u_1
  authz user list --active false --org acme`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			filter := fields{}
			if f := c.Flags().Lookup("active"); f.Changed {
				active := f.Value.String()
				if active != "true" && active != "false" {
					return usageError{fmt.Errorf("--active must be true or false, not %s", spell.Quote(active))}
				}
				filter["active"] = active == "true"
			}
			if len(args) > 0 {
				filter["prefix"] = args[0]
			}
			l := a.listing(c.OutOrStdout(), "users", "USER", "ACTIVE")
			return list(c.Context(), app, "listUsers", fields{"filter": filter}, limit, l, func(u orgroot.User) []string {
				return []string{u.UserID, strconv.FormatBool(u.Active)}
			})
		}),
	}
	a.reads(c)
	a.addOrg(c)
	choice(c, "active", "only those who are, or are not", []string{"true", "false"})
	c.Flags().IntVar(&limit, "limit", 0, "at most this many")
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

// shownUser is what user show prints.
type shownUser struct {
	UserID       string         `json:"userId"`
	Active       bool           `json:"active"`
	GroupIDs     []string       `json:"groupIds"`
	ManagerChain []string       `json:"managerChain"`
	Closure      []string       `json:"closure"`
	Grants       []authz.Grant  `json:"grants"`
	Revokes      []authz.Revoke `json:"revokes"`
}

func newUserShow() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "show USER",
		Short: "Show whether a user is active, their groups and every row that reaches them",
		Long: `Show whether a user is active, the groups they are in, their managers, and every grant that
reaches them, directly or through a group, an org or a manager, with their revokes. A user
without a record is active and in no group. 'authz entitlements' says what it adds up to.`,
		Example: `  authz user show u_17
  authz user show u_17 -o json | jq .closure`,
		Args: cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			if err := a.asksAboutUsers(c, app, args[0]); err != nil {
				return err
			}
			access, err := accessOf(c.Context(), app, args[0])
			if err != nil {
				return err
			}
			groups, err := directGroups(c.Context(), app, args[0])
			if err != nil {
				return err
			}
			u := shownUser{args[0], access.Active, groups, access.ManagerChain, access.Closure, access.Grants, access.Revokes}
			return a.printed(c, u, func(w io.Writer) { printUser(w, u) })
		}),
	}
	a.reads(c)
	a.addOrg(c)
	c.ValidArgsFunction = a.argument(userIDs)
	return c
}

func printUser(w io.Writer, u shownUser) {
	table(w, [][]string{
		{"user", u.UserID},
		{"active", strconv.FormatBool(u.Active)},
		{"groups", orDash(strings.Join(u.GroupIDs, ", "))},
		{"managers", orDash(strings.Join(u.ManagerChain, ", "))},
		{"is", strings.Join(u.Closure, ", ")},
	})
	if len(u.Grants) > 0 {
		rows := [][]string{{"GRANT", "SUBJECT", "GIVES", "SCOPE", "EXPIRES", "BY"}}
		for _, g := range u.Grants {
			rows = append(rows, grantCells(g))
		}
		fmt.Fprintln(w)
		table(w, rows)
	}
	if len(u.Revokes) > 0 {
		rows := [][]string{{"REVOKE", "USER", "TAKES", "SCOPE", "BY"}}
		for _, r := range u.Revokes {
			rows = append(rows, revokeCells(r))
		}
		fmt.Fprintln(w)
		table(w, rows)
	}
}

func accessOf(ctx context.Context, a *application, user string) (access authz.SubjectAccess, err error) {
	return access, a.call(ctx, "getSubjectAccess", fields{"principal": authz.UserPrincipal(user)}, &access)
}

// directGroups are the groups that the user is a member of.
func directGroups(ctx context.Context, a *application, user string) ([]string, error) {
	var answer struct {
		User *authz.User `json:"user"`
	}
	if err := a.call(ctx, "getUser", fields{"userId": user}, &answer); err != nil || answer.User == nil {
		return []string{}, err
	}
	return append([]string{}, answer.User.GroupIDs...), nil
}

// changeGroups puts a user into groups and takes them out of others. The hosted API does
// so one by one.
func changeGroups(ctx context.Context, a *application, user string, add, remove []string) error {
	changes := []fields{{"userId": user, "add": add, "remove": remove}}
	if a.hosted != nil {
		changes = nil
		for _, id := range add {
			changes = append(changes, fields{"userId": user, "add": []string{id}})
		}
		for _, id := range remove {
			changes = append(changes, fields{"userId": user, "remove": []string{id}})
		}
	}
	for _, p := range changes {
		if err := a.call(ctx, "changeGroupMembership", a.by(p), nil); err != nil {
			return missingGroup(ctx, a, err, p)
		}
	}
	return nil
}

func newUserGroups() *cobra.Command {
	a := &admin{}
	var add, remove []string
	var none bool
	c := &cobra.Command{
		Use:   "groups USER [GROUP...]",
		Short: "Show or change the groups of a user",
		Long: `Show the groups that a user is a direct member of, replace the whole list by the GROUPs given
(with --none by nothing), or change it with --add and --remove, which leave the rest of the
list as it is, whoever changes it at the same time.`,
		Example: `  authz user groups u_17
  authz user groups u_17 --add writers --remove interns
  authz user groups u_17 staff writers`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			groups, replace, err := replacement(args[1:], none)
			if err != nil {
				return err
			}
			if replace && len(add)+len(remove) > 0 {
				return usageError{errors.New("either replace the list, or change it with --add and --remove")}
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			switch {
			case replace:
				p := fields{"userId": args[0], "groupIds": groups}
				if err := app.call(c.Context(), "setGroupMembership", app.by(p), nil); err != nil {
					return missingGroup(c.Context(), app, err, p)
				}
			default:
				if len(add) == 0 {
					if err := a.asksAboutUsers(c, app, args[0]); err != nil {
						return err
					}
				}
				if groups, err = directGroups(c.Context(), app, args[0]); err != nil {
					return err
				}
				if len(add)+len(remove) == 0 {
					break
				}
				for _, id := range remove {
					if !slices.Contains(groups, id) {
						fmt.Fprintf(c.ErrOrStderr(), "warning: %s is no direct member of %s\n", plain(args[0]), spell.Quote(id))
					}
				}
				if err := changeGroups(c.Context(), app, args[0], add, remove); err != nil {
					return err
				}
				if groups, err = directGroups(c.Context(), app, args[0]); err != nil {
					return err
				}
			}
			return a.printed(c, map[string]any{"userId": args[0], "groupIds": groups}, func(w io.Writer) { lines(w, groups) })
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().StringArrayVar(&add, "add", nil, "put the user into this group; repeat it for more")
	c.Flags().StringArrayVar(&remove, "remove", nil, "take the user out of this group; repeat it for more")
	c.Flags().BoolVar(&none, "none", false, "take the user out of all groups")
	a.completes(c, "add", groupIDs)
	a.completes(c, "remove", groupIDs)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.complete(userIDs)(c, args, typed)
		}
		return a.complete(groupIDs)(c, args, typed)
	}
	return c
}

func newUserManager() *cobra.Command {
	a := &admin{}
	var none bool
	c := &cobra.Command{
		Use:   "manager USER [MANAGER]",
		Short: "Show or change whom a user reports to",
		Long: `Show the managers of a user, nearest first, or set the direct one; with --none clear it.
Reports of a manager are the subjects directs:MANAGER and, with theirs, orgof:MANAGER.`,
		Example: `  authz user manager u_17
  authz user manager u_17 u_3`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			managers, change, err := replacement(args[1:], none)
			if err != nil {
				return err
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			about := args[len(args)-1:] // whoever gets a manager may be new
			if err := a.asksAboutUsers(c, app, about...); err != nil {
				return err
			}
			if change {
				p := fields{"userId": args[0], "managerUserId": nil}
				if len(managers) > 0 {
					p["managerUserId"] = managers[0]
				}
				if err := app.call(c.Context(), "setReportingEdge", app.by(p), nil); err != nil {
					return err
				}
			}
			access, err := accessOf(c.Context(), app, args[0])
			if err != nil {
				return err
			}
			chain := append([]string{}, access.ManagerChain...)
			return a.printed(c, map[string]any{"userId": args[0], "managerChain": chain}, func(w io.Writer) { lines(w, chain) })
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().BoolVar(&none, "none", false, "the user reports to nobody")
	c.ValidArgsFunction = a.complete(userIDs)
	return c
}

func newUserActive(verb string, active bool, short, long string) *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use: verb + " USER", Short: short, Long: long,
		Example: "  authz user " + verb + " u_17",
		Args:    cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			if err := a.sureOf(c, app, args[0]); err != nil {
				return err
			}
			p := fields{"userId": args[0], "active": active}
			if err := app.call(c.Context(), "setUserActive", app.by(p), nil); err != nil {
				return err
			}
			return a.printed(c, map[string]any{"userId": args[0], "active": active}, func(w io.Writer) {
				fmt.Fprintf(w, "user %s is %sd\n", args[0], verb)
			})
		}),
	}
	a.writes(c)
	a.addOrg(c)
	a.doubtful(c)
	c.ValidArgsFunction = a.argument(userIDs)
	return c
}

// cleanup is what deleteSubject and deleteScope answer.
type cleanup struct {
	DeletedGrants  int             `json:"deletedGrants"`
	DeletedRevokes int             `json:"deletedRevokes"`
	Members        []memberCleanup `json:"members,omitempty"`
}

// memberCleanup is what came of it at a member of a federated org.
type memberCleanup struct {
	Application    string `json:"application"`
	DeletedGrants  int    `json:"deletedGrants"`
	DeletedRevokes int    `json:"deletedRevokes"`
	Error          string `json:"error,omitempty"`
}

func newUserDelete() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "delete USER",
		Short: "Remove a user with every row that names them",
		Long: `Remove a user who left: their grants and revokes, what was granted to their reports as such,
their pending requests, their record with memberships and manager. Nothing of it comes back
with a reused id. To take access away for a while, deactivate.`,
		Example: `  authz user delete u_17 --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			subject := authz.SubjectOf(authz.SubjectUser, args[0])
			n, err := countGrants(c.Context(), app, fields{"subject": subject})
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Delete the user %s with %d grants of their own, revokes, memberships and pending requests?", args[0], n)
			if err := a.sureOf(c, app, args[0]); err != nil {
				return err
			}
			if err := a.sure(c, question); err != nil {
				return err
			}
			return clean(c, a, app, "deleteSubject", "subject", subject)
		}),
	}
	a.writes(c)
	a.addOrg(c)
	a.asks(c)
	a.doubtful(c)
	c.ValidArgsFunction = a.argument(userIDs)
	return c
}

func clean(c *cobra.Command, a *admin, app *application, op, field, id string) error {
	var result cleanup
	if err := app.long(c.Context(), op, app.by(fields{field: id}), &result); err != nil {
		return err
	}
	err := a.printed(c, result, func(w io.Writer) {
		fmt.Fprintf(w, "%s deleted, with %d grants and %d revokes\n", id, result.DeletedGrants, result.DeletedRevokes)
	})
	for _, m := range result.Members {
		if m.Error != "" && err == nil {
			err = fmt.Errorf("rows of %s are left at %s (%s): repeat it", plain(id), plain(m.Application), plain(m.Error))
		}
	}
	return err
}
