package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/sdk/authz"
)

type applyCommand struct {
	admin
	file                        string
	prune, dryRun, exit, impact bool
}

func newApply() *cobra.Command {
	a := &applyCommand{}
	c := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Make roles, groups and grants as a file declares them",
		Long: `Make roles, groups and grants as a file declares them (JSON or YAML). It shows what it would
change, asks, and changes it; run again, it has nothing to do.

  name: team-access
  roles:
    - {id: editor, name: Editor, patterns: ["docs.files.*"]}
  groups:
    - {id: staff}
    - {id: writers, parents: [staff]}
  grants:
    - {subject: "group:writers", role: editor, scope: "docs.folder:f_1"}
    - {subject: "user:u_17", pattern: docs.files.read, expires: 2027-01-31}

A declared role or group is made to be exactly as declared, whoever made it. A grant is the
same as a stored one by subject, role or pattern, scope and expiry. What the file does not
name is left alone, people and memberships altogether. With --prune it deletes what earlier
applies of a file of this name made and the file no longer declares; it keeps what others built
on. With --org it makes them at the org root, and grants at resources with their applications.
The rows then belong to the key's user like any others, so nothing can be pruned.

It takes away before it gives, each step one write; a role that gains and loses changes in
one write, those that only lose come first. When a step fails it says what was applied; run
it again to go on with the rest. The audit log names reconciler:apply:NAME, with --org the key's user.`,
		Example: `  authz apply -f access.yaml
  authz apply -f access.yaml --prune --yes
  authz apply -f access.yaml --dry-run --impact
  authz apply -f access.yaml --dry-run --exit-code --url https://authz.example/apps/docs --token-file token
  authz apply -f access.yaml --org acme`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process at once
			return a.run(ctx, c)
		},
	}
	a.reads(c)
	a.addOrg(c)
	a.asks(c)
	c.Flags().StringVarP(&a.file, "file", "f", "", "the declaration, - for standard input (required)")
	c.Flags().BoolVar(&a.prune, "prune", false, "delete what earlier applies of this name made and the file no longer declares")
	c.Flags().BoolVar(&a.dryRun, "dry-run", false, "show the plan and change nothing")
	c.Flags().BoolVar(&a.impact, "impact", false, "with --dry-run: also show who would gain and lose what")
	c.Flags().BoolVar(&a.exit, "exit-code", false, fmt.Sprintf("with --dry-run: exit with %d when there is something to do", exitDenied))
	_ = c.MarkFlagFilename("file", "json", "yaml", "yml")
	needs(c, "file")
	return c
}

func (a *applyCommand) run(ctx context.Context, c *cobra.Command) error {
	switch {
	case a.exit && !a.dryRun:
		return usageError{errors.New("--exit-code goes with --dry-run")}
	case a.impact && !a.dryRun:
		return usageError{errors.New("--impact goes with --dry-run")}
	case a.file == "-" && !a.yes && !a.dryRun:
		return usageError{errors.New("standard input is the declaration: give --yes or --dry-run")}
	case a.org != "" && a.prune:
		return usageError{errors.New("--prune does not go with --org: over the hosted API rows do not say which file made them. Ask the application itself, or delete them by hand")}
	case a.org != "" && a.app != "":
		return usageError{errors.New("a file is about the whole org, not about " + a.app + ": leave --app out")}
	}
	f, err := readAccess(c.InOrStdin(), a.file)
	if err != nil {
		return err
	}
	app, err := a.open(ctx)
	if err != nil {
		return err
	}
	quickly := within{app, callTimeout}
	state, err := apply.Read(ctx, quickly, f, app.hosted != nil)
	if err != nil {
		return err
	}
	plan, err := apply.NewPlan(f, state, app.where, time.Now(), a.prune)
	if err == nil && app.local != nil {
		err = plan.Grantable(ctx, quickly)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", input.Name(a.file), err)
	}
	if a.dryRun || len(plan.Changes) == 0 {
		shown := plannedImpact{Plan: plan}
		if a.impact {
			if shown.Impact, err = a.impactOf(ctx, app, plan); err != nil {
				return err
			}
		}
		if err := a.printed(c, shown, func(w io.Writer) {
			printPlan(w, plan)
			printImpact(w, shown.Impact)
		}); err != nil {
			return err
		}
		if a.exit && len(plan.Changes) > 0 {
			return errDenied
		}
		return nil
	}
	if shown := a.format == "text"; shown || !a.yes {
		to := c.ErrOrStderr()
		if shown {
			to = c.OutOrStdout()
		}
		printPlan(to, plan)
	}
	c.SetContext(ctx)
	if err := a.sure(c, fmt.Sprintf("Apply these %d changes to %s?", len(plan.Changes), plan.Application)); err != nil {
		return err
	}
	return a.apply(ctx, c, app, plan)
}

// readAccess reads a declaration. The error names everything that is wrong in it.
func readAccess(in io.Reader, file string) (*apply.File, error) {
	f := &apply.File{}
	if err := input.Into(in, file, f); err != nil {
		return nil, err
	}
	return f, faulty(file, f.Complete())
}

// faulty refuses a file in which something is wrong.
func faulty(file string, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return usageError{errors.New(input.Name(file) + ":\n  " + strings.Join(wrong, "\n  "))}
}

// apply carries the plan out, and says of each change what became of it.
func (a *applyCommand) apply(ctx context.Context, c *cobra.Command, app *application, plan *apply.Plan) error {
	bar := newProgress(c.ErrOrStderr())
	bar.doing, bar.did = "applying", "applied"
	err := plan.Run(ctx, within{app, longTimeout}, func(applied int) { bar.tell(applied, len(plan.Changes), "changes") })
	bar.end()
	if err == nil {
		return a.printed(c, plan, func(w io.Writer) { fmt.Fprintf(w, "applied %d changes\n", len(plan.Changes)) })
	}
	if a.format == "text" {
		for _, one := range plan.Changes {
			fmt.Fprintf(c.ErrOrStderr(), "  %-14s %s\n", one.State, plain(one.String()))
		}
	} else if err := a.printed(c, plan, nil); err != nil {
		return err
	}
	next := "Run the same command again: it goes on with what is missing"
	if authz.CodeOf(err) == authz.CodeValidation {
		next = "Correct that and run the command again: it goes on with what is missing"
	}
	return fmt.Errorf("%d of %d changes were applied: %w\n%s",
		plan.Applied(), len(plan.Changes), err, next)
}

func printPlan(w io.Writer, p *apply.Plan) {
	for _, warning := range p.Warnings {
		fmt.Fprintln(w, "warning: "+plain(warning))
	}
	if len(p.Changes) == 0 {
		fmt.Fprintf(w, "nothing to do: %s is as %s declares it\n", p.Application, p.Name)
		return
	}
	fmt.Fprintf(w, "%s in %s:\n", p.Name, p.Application)
	for _, c := range p.Changes {
		fmt.Fprintln(w, "  "+plain(c.String()))
	}
	fmt.Fprintf(w, "%d to create, %d to update, %d to delete\n", p.Count("create"), p.Count("update"), p.Count("delete"))
}
