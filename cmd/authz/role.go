package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/sdk/authz"
)

func newRole() *cobra.Command {
	c := &cobra.Command{Use: "role", Short: "Roles: named lists of patterns that grants give", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newRoleCreate(), newRoleUpdate(), newRoleList(), newRoleShow(),
		newDelete("role", "deleteRole", "roleId", roleIDs, "Delete a role that no grant and no pending request names", `  authz role delete editor`))
	return c
}

// roleFlags are what a role is made of on a command line.
type roleFlags struct {
	name, description, file string
	patterns                []string
}

func (f *roleFlags) add(c *cobra.Command, a *admin) {
	c.Flags().StringVar(&f.name, "name", "", "what people call it")
	c.Flags().StringVar(&f.description, "description", "", "what it is for")
	c.Flags().StringArrayVar(&f.patterns, "pattern", nil, "what it gives, such as 'docs.files.*'; repeat it for more")
	c.Flags().StringVarP(&f.file, "file", "f", "", "the role as JSON or YAML, such as with how it is requested; flags override it")
	_ = c.MarkFlagFilename("file", "json", "yaml", "yml")
	a.completes(c, "pattern", patterns)
}

// input joins the file, whose nulls clear in an update, with the flags.
func (f *roleFlags) input(c *cobra.Command) (fields, error) {
	in := fields{}
	if f.file != "" {
		text, err := input.JSON(c.InOrStdin(), f.file, apply.Role{})
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.Flags().Changed("name") {
		in["name"] = f.name
	}
	if c.Flags().Changed("description") {
		in["description"] = f.description
	}
	if c.Flags().Changed("pattern") {
		in["patterns"] = f.patterns
	}
	return in, nil
}

func newRoleCreate() *cobra.Command {
	a, f := &admin{}, &roleFlags{}
	c := &cobra.Command{
		Use:   "create [ID]",
		Short: "Make a role",
		Long: `Make a role. Without ID the host chooses one; names may change, the id is what grants hold.

A file also says how the role is requested:

  name: Editor
  patterns: ["docs.files.*"]
  requestable:
    prompts: [{id: why, label: Reason}]
    maxDurationMs: 28800000
    stages: [{kind: management, layers: 1}]`,
		Example: `  authz role create editor --name Editor --pattern 'docs.files.*'
  authz role create editor -f editor.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := f.input(c)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				in["id"] = args[0]
			}
			if _, named := in["name"]; !named && len(args) == 0 {
				return seeHelp(c, "give the role an ID, or a --name")
			} else if !named {
				in["name"] = args[0]
			}
			if _, given := in["patterns"]; !given {
				in["patterns"] = []string{}
			}
			return writeRole(c, a, "createRole", fields{"input": in}, "made")
		},
	}
	a.writes(c)
	a.addOrg(c)
	f.add(c, a)
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

func newRoleUpdate() *cobra.Command {
	a, f := &admin{}, &roleFlags{}
	c := &cobra.Command{
		Use:   "update ID",
		Short: "Change a role for everybody who holds it",
		Long: `Change the name, the description or the patterns of a role, or how it is requested. What is
not given stays; --pattern replaces the whole list. In a file null clears the description
or takes back that the role can be requested. While a request for the role is pending its
patterns cannot change.`,
		Example: `  authz role update editor --pattern 'docs.files.*' --pattern docs.folders.read
  authz role update editor -f editor.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := f.input(c)
			if err != nil {
				return err
			}
			if len(in) == 0 {
				return usageError{fmt.Errorf("say what to change: --name, --description, --pattern or -f")}
			}
			return writeRole(c, a, "updateRole", fields{"roleId": args[0], "input": in}, "changed")
		},
	}
	a.writes(c)
	a.addOrg(c)
	f.add(c, a)
	c.ValidArgsFunction = a.argument(roleIDs)
	return c
}

func writeRole(c *cobra.Command, a *admin, op string, p fields, done string) error {
	app, err := a.open(c.Context())
	if err != nil {
		return err
	}
	var result struct {
		Role authz.Role `json:"role"`
	}
	if err := app.call(c.Context(), op, app.by(p), &result); err != nil {
		if id, ok := p["roleId"].(string); ok {
			err = absent(c.Context(), app, err, "role", id, roleIDs)
		}
		return err
	}
	return a.printed(c, result, func(w io.Writer) {
		fmt.Fprintf(w, "role %s %s: %s\n", result.Role.ID, done, cmp.Or(strings.Join(result.Role.Patterns, ", "), "it gives nothing yet"))
	})
}

func newRoleList() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the roles",
		Example: `  authz role list`,
		Args:    cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			l := a.listing(c.OutOrStdout(), "roles", "ID", "NAME", "REQUESTABLE", "PATTERNS")
			return list(c.Context(), app, "listRoles", nil, 0, l, func(r authz.Role) []string {
				return []string{r.ID, r.Name, strconv.FormatBool(r.Requestable != nil), strings.Join(r.Patterns, ", ")}
			})
		}),
	}
	a.reads(c)
	a.addOrg(c)
	return c
}

func newRoleShow() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one role and how many grants give it",
		Example: `  authz role show editor`,
		Args:    cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			r, err := findRole(c.Context(), app, args[0])
			if err != nil {
				return err
			}
			n, err := countGrants(c.Context(), app, fields{"roleId": r.ID})
			if err != nil {
				return err
			}
			shown := struct {
				Role   authz.Role `json:"role"`
				Grants int64      `json:"grants"`
			}{r, n}
			return a.printed(c, shown, func(w io.Writer) {
				rows := [][]string{{"id", r.ID}, {"name", r.Name}, {"description", orDash(r.Description)}, {"grants", strconv.FormatInt(n, 10)}}
				for _, p := range r.Patterns {
					rows = append(rows, []string{"pattern", p})
				}
				if q := r.Requestable; q != nil {
					for _, s := range q.Stages {
						rows = append(rows, []string{"approval", stageText(s)})
					}
				}
				table(w, rows)
			})
		}),
	}
	a.reads(c)
	a.addOrg(c)
	c.ValidArgsFunction = a.argument(roleIDs)
	return c
}

func findRole(ctx context.Context, a *application, id string) (authz.Role, error) {
	found, err := find(ctx, a, "listRoles", "roles", nil, func(r authz.Role) bool { return r.ID == id })
	switch {
	case err != nil:
		return authz.Role{}, err
	case found == nil:
		return authz.Role{}, noSuch(ctx, a, "role", id, roleIDs)
	}
	return *found, nil
}

func stageText(s authz.Stage) string {
	switch {
	case s.Kind == authz.StageNamedApprovers:
		return "anybody with the role " + s.RoleID
	case s.Kind == authz.StageManagement && s.Layers != nil:
		return fmt.Sprintf("the manager %d up", *s.Layers)
	case s.Kind == authz.StageManagement:
		return "the manager"
	case s.Predicate != nil:
		p := s.Predicate
		return "automatic: " + strings.TrimSpace(p.Type+" "+p.GroupID+p.OrgID+p.Subject+p.Pattern)
	}
	return s.Kind
}
