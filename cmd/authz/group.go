package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/sdk/authz"
)

func newGroup() *cobra.Command {
	c := &cobra.Command{Use: "group", Short: "Groups of people, and what they inherit from", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newGroupCreate(), newGroupUpdate(), newGroupList(), newGroupParents(), newGroupMembers(), newGroupDelete(), newGroupDissolve())
	return c
}

type groupResult struct {
	Group authz.Group `json:"group"`
}

func writeGroup(c *cobra.Command, a *admin, op string, p fields, done string) error {
	app, err := a.open(c.Context())
	if err != nil {
		return err
	}
	var result groupResult
	if err := app.call(c.Context(), op, app.by(p), &result); err != nil {
		return missingGroup(c.Context(), app, err, p)
	}
	return a.printed(c, result, func(w io.Writer) {
		fmt.Fprintf(w, "group %s %s, parents: %s\n", result.Group.ID, done, orDash(strings.Join(result.Group.Parents, ", ")))
	})
}

// missingGroup says which of the groups that an operation names is not there.
func missingGroup(ctx context.Context, app *application, err error, p fields) error {
	if app.hosted != nil || authz.CodeOf(err) != authz.CodeNotFound {
		return err
	}
	named, _ := p["parents"].([]string)
	if in, ok := p["input"].(fields); ok {
		parents, _ := in["parents"].([]string)
		named = append(slices.Clone(named), parents...)
	}
	for _, member := range []string{"groupIds", "add"} {
		groups, _ := p[member].([]string)
		named = append(slices.Clone(named), groups...)
	}
	if id, ok := p["groupId"].(string); ok {
		named = append([]string{id}, named...)
	}
	for _, id := range named {
		if _, missing := findGroup(ctx, app, id); missing != nil {
			return missing
		}
	}
	return err
}

func newGroupCreate() *cobra.Command {
	a := &admin{}
	var name, description string
	var parents []string
	c := &cobra.Command{
		Use:   "create [ID]",
		Short: "Make a group",
		Long: `Make a group. Without ID the host chooses one. Members of the group have whatever its
parents are given.`,
		Example: `  authz group create writers --name Writers --parent g_acme`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && name == "" {
				return seeHelp(c, "give the group an ID, or a --name")
			}
			in := fields{"name": name, "parents": parents}
			if description != "" {
				in["description"] = description
			}
			if len(args) > 0 {
				in["id"] = args[0]
				if name == "" {
					in["name"] = args[0]
				}
			}
			return writeGroup(c, a, "createGroup", fields{"input": in}, "made")
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().StringVar(&name, "name", "", "what people call it (default: its ID)")
	c.Flags().StringVar(&description, "description", "", "what it is for")
	c.Flags().StringArrayVar(&parents, "parent", nil, "the id of a group that it belongs to; repeat it for more")
	a.completes(c, "parent", groupIDs)
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

func newGroupUpdate() *cobra.Command {
	a := &admin{}
	var name, description string
	c := &cobra.Command{
		Use:     "update ID",
		Short:   "Rename or describe a group",
		Example: `  authz group update writers --name 'Writers and editors'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in := fields{}
			for flag, v := range map[string]string{"name": name, "description": description} {
				if c.Flags().Changed(flag) {
					in[flag] = v
				}
			}
			if len(in) == 0 {
				return usageError{fmt.Errorf("say what to change: --name or --description")}
			}
			return writeGroup(c, a, "updateGroup", fields{"groupId": args[0], "input": in}, "changed")
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().StringVar(&name, "name", "", "what people call it")
	c.Flags().StringVar(&description, "description", "", "what it is for")
	c.ValidArgsFunction = a.argument(groupIDs)
	return c
}

func newGroupList() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the groups",
		Example: `  authz group list`,
		Args:    cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			l := a.listing(c.OutOrStdout(), "groups", "ID", "NAME", "PARENTS", "VIRTUAL")
			return list(c.Context(), app, "listGroups", nil, 0, l, func(g authz.Group) []string {
				return []string{g.ID, g.Name, orDash(strings.Join(g.Parents, ", ")), strconv.FormatBool(g.Virtual)}
			})
		}),
	}
	a.reads(c)
	a.addOrg(c)
	return c
}

func newGroupParents() *cobra.Command {
	a := &admin{}
	var none bool
	c := &cobra.Command{
		Use:   "parents ID [PARENT...]",
		Short: "Show or replace the parents of a group",
		Long: `Show the groups that a group belongs to, or replace the whole list by the PARENTs given; with
--none by nothing. A parent that would close a cycle is refused, and the cycle is shown.`,
		Example: `  authz group parents writers
  authz group parents writers staff contributors`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			parents, change, err := replacement(args[1:], none)
			if err != nil {
				return err
			}
			if change {
				return writeGroup(c, a, "setGroupParents", fields{"groupId": args[0], "parents": parents}, "changed")
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			g, err := findGroup(c.Context(), app, args[0])
			if err != nil {
				return err
			}
			return a.printed(c, groupResult{g}, func(w io.Writer) { lines(w, g.Parents) })
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().BoolVar(&none, "none", false, "take all parents away")
	c.ValidArgsFunction = a.complete(groupIDs)
	return c
}

// replacement is the list that replaces another; change is false when none was
// given.
func replacement(given []string, none bool) (list []string, change bool, err error) {
	if none && len(given) > 0 {
		return nil, false, usageError{fmt.Errorf("--none stands alone: it replaces the list by nothing")}
	}
	return append([]string{}, given...), none || len(given) > 0, nil
}

func lines(w io.Writer, list []string) {
	for _, one := range list {
		fmt.Fprintln(w, plain(one))
	}
}

func findGroup(ctx context.Context, a *application, id string) (authz.Group, error) {
	found, err := find(ctx, a, "listGroups", "groups", nil, func(g authz.Group) bool { return g.ID == id })
	switch {
	case err != nil:
		return authz.Group{}, err
	case found == nil:
		return authz.Group{}, noSuch(ctx, a, "group", id, groupIDs)
	}
	return *found, nil
}

func members(ctx context.Context, a *application, id string) ([]string, error) {
	var result struct{ UserIDs []string }
	err := a.call(ctx, "getGroupMembers", fields{"groupId": id}, &result)
	return result.UserIDs, err
}

func newGroupMembers() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "members ID",
		Short: "List the direct members of a group",
		Long:  `List the direct members of a group. 'authz user groups' puts people in and takes them out.`,
		Example: `  authz group members writers
  authz group members writers -o json | jq -r '.userIds[]'`,
		Args: cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			ids, err := members(c.Context(), app, args[0])
			if err != nil {
				return err
			}
			if len(ids) == 0 { // nobody in it, or no such group: the operation does not tell
				if _, err := findGroup(c.Context(), app, args[0]); err != nil {
					return err
				}
				ids = []string{}
			}
			return a.printed(c, map[string][]string{"userIds": ids}, func(w io.Writer) { lines(w, ids) })
		}),
	}
	a.reads(c)
	a.addOrg(c)
	c.ValidArgsFunction = a.argument(groupIDs)
	return c
}

func newGroupDelete() *cobra.Command {
	return newGroupEnd("delete ID", "deleteGroup", "Delete a group, its memberships and its grants",
		`Delete a group. Its members lose the membership, its children the parent, and everything
that was granted to it goes with it. To keep what the children inherit, dissolve it.`,
		`  authz group delete interns --yes`, "deleted")
}

func newGroupDissolve() *cobra.Command {
	return newGroupEnd("dissolve ID", "dissolveVirtualParent", "Delete a group and leave its access to its children",
		`Delete a group that only held others together, such as the virtual group that a directory's
cycle became. What was granted to it is granted to each of its children instead, and they
take its parents. Direct members lose the membership.`,
		`  authz group dissolve virtual:a+b --yes`, "dissolved")
}

func newGroupEnd(use, op, short, long, example, done string) *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			g, err := findGroup(c.Context(), app, args[0])
			if err != nil {
				return err
			}
			inside, err := members(c.Context(), app, g.ID)
			if err != nil {
				return err
			}
			grants, err := countGrants(c.Context(), app, fields{"subject": authz.SubjectOf(authz.SubjectGroup, g.ID)})
			if err != nil {
				return err
			}
			verb, _, _ := strings.Cut(use, " ")
			question := fmt.Sprintf("%s%s the group %s with %d direct members and %d grants?", strings.ToUpper(verb[:1]), verb[1:], g.ID, len(inside), grants)
			if err := a.sure(c, question); err != nil {
				return err
			}
			if err := app.long(c.Context(), op, app.by(fields{"groupId": g.ID}), nil); err != nil {
				return err
			}
			return a.printed(c, map[string]string{done: g.ID}, func(w io.Writer) { fmt.Fprintf(w, "group %s %s\n", g.ID, done) })
		}),
	}
	a.writes(c)
	a.addOrg(c)
	a.asks(c)
	c.ValidArgsFunction = a.argument(groupIDs)
	return c
}
