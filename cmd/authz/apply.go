package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type applyCommand struct {
	admin
	file                string
	prune, dryRun, exit bool
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
name is left alone, people and memberships altogether. With --prune, what earlier applies of
a file of this name made and it no longer declares is deleted; what others built on, stays.
With --org it makes them at the org root, and grants at resources with their applications; the
rows are then the key's user's like any others of theirs, so that nothing can be pruned.

It takes away before it gives, each step one write; a role that gains and loses changes in
one write, those that only lose come first. When a step fails it says what was applied; run
it again to go on with the rest. The audit log names reconciler:apply:NAME, with --org the key's user.`,
		Example: `  authz apply -f access.yaml
  authz apply -f access.yaml --prune --yes
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
	c.Flags().BoolVar(&a.exit, "exit-code", false, fmt.Sprintf("with --dry-run: exit with %d when there is something to do", exitDenied))
	_ = c.MarkFlagFilename("file", "json", "yaml", "yml")
	needs(c, "file")
	return c
}

func (a *applyCommand) run(ctx context.Context, c *cobra.Command) error {
	switch {
	case a.exit && !a.dryRun:
		return usageError{errors.New("--exit-code goes with --dry-run")}
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
	state, err := readState(ctx, app, f)
	if err != nil {
		return err
	}
	plan, err := planAccess(f, state, app.where, time.Now(), a.prune)
	if err != nil {
		return fmt.Errorf("%s: %w", shown(a.file), err)
	}
	if err := plan.grantable(ctx, app, f, state); err != nil {
		return fmt.Errorf("%s: %w", shown(a.file), err)
	}
	if a.dryRun || len(plan.Changes) == 0 {
		if err := a.printed(c, plan, plan.print); err != nil {
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
		plan.print(to)
	}
	c.SetContext(ctx)
	if err := a.sure(c, fmt.Sprintf("Apply these %d changes to %s?", len(plan.Changes), plan.Application)); err != nil {
		return err
	}
	return a.apply(ctx, c, app, f, plan)
}

// apply carries the plan out, and says of each change what became of it.
func (a *applyCommand) apply(ctx context.Context, c *cobra.Command, app *application, f *accessFile, plan *accessPlan) error {
	bar := newProgress(c.ErrOrStderr())
	bar.doing, bar.did = "applying", "applied"
	err := plan.run(ctx, app, f.provenance(), bar)
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
		plan.count(func(c *change) bool { return c.State == stateApplied }), len(plan.Changes), err, next)
}

// run does step by step. An interrupt ends it between two steps: of one that was
// cut nobody could say what became of it.
func (p *accessPlan) run(ctx context.Context, app *application, prov authz.Provenance, bar *progress) error {
	var failed error
	for _, s := range p.steps {
		if failed == nil && ctx.Err() != nil {
			failed = errors.New("interrupted")
		}
		if failed != nil {
			p.settle(s, stateNotTried)
			continue
		}
		s.params["provenance"] = prov
		err := app.long(context.WithoutCancel(ctx), s.op, s.params, nil)
		if err == nil {
			p.settle(s, stateApplied)
			bar.tell(p.count(func(c *change) bool { return c.State == stateApplied }), len(p.Changes), "changes")
			continue
		}
		failed = fmt.Errorf("%s: %w", s.changes[0], err)
		if outcomeUnknown(err) {
			p.settle(s, stateUnknown)
		} else {
			p.settle(s, stateFailed)
		}
	}
	return failed
}

// settle notes what became of the changes of a step.
func (p *accessPlan) settle(s step, state string) {
	for _, c := range s.changes {
		switch state {
		case stateApplied:
			if c.State, c.left = statePartly, c.left-1; c.left == 0 {
				c.State = stateApplied
			}
		case stateNotTried:
			if c.State == statePlanned {
				c.State = stateNotTried
			}
		default:
			if c.State = state; c.left < c.of {
				c.State = statePartly
			}
		}
	}
}

// outcomeUnknown reports that a write may have been applied.
func outcomeUnknown(err error) bool {
	var outage *authz.UnavailableError
	var transport *provider.TransportError
	return errors.As(err, &outage) && outage.Outcome == authz.OutcomeUnknown || errors.As(err, &transport) && transport.Status == 0
}

func (p *accessPlan) count(is func(*change) bool) (n int) {
	for _, c := range p.Changes {
		if is(c) {
			n++
		}
	}
	return n
}

func (p *accessPlan) print(w io.Writer) {
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
	of := func(action string) int { return p.count(func(c *change) bool { return c.Action == action }) }
	fmt.Fprintf(w, "%d to create, %d to update, %d to delete\n", of("create"), of("update"), of("delete"))
}

// grantable asks the host about every pattern that the plan writes, and about every
// role where it is granted, before anything is changed. Only the socket answers that;
// elsewhere the write itself does.
func (p *accessPlan) grantable(ctx context.Context, app *application, f *accessFile, s *accessState) error {
	if app.remote || app.hosted != nil {
		return nil
	}
	reasons := map[string]string{} // by question
	why := func(op string, params fields) (string, error) {
		question := fmt.Sprint(op, " ", params["pattern"], " ", authz.ScopeType(fmt.Sprint(params["scope"])))
		if known, ok := reasons[question]; ok {
			return known, nil
		}
		var result struct{ Reason string }
		err := app.call(ctx, op, params, &result)
		reasons[question] = result.Reason
		return result.Reason, err
	}
	known := func(what, pattern string) error {
		reason, err := why("validateKnownPattern", fields{"pattern": pattern})
		if err == nil && reason != "" {
			err = authz.Validation("%s: %s", what, reason)
		}
		return err
	}
	role := func(id any, input fields) error {
		patterns, _ := input["patterns"].([]string)
		for _, pattern := range patterns {
			if err := known(fmt.Sprintf("role %s", id), pattern); err != nil {
				return err
			}
		}
		return nil
	}
	patterns := map[string][]string{}
	for id, r := range s.roles {
		patterns[id] = r.Patterns
	}
	for _, r := range f.Roles {
		patterns[r.ID] = r.Patterns
	}
	grant := func(in provider.GrantInput) error {
		key := grantKey{in.Subject, in.RoleID, in.Pattern, in.Scope}
		given := patterns[in.RoleID]
		if in.RoleID == "" {
			given = []string{in.Pattern}
			if err := known("grant "+key.String(), in.Pattern); err != nil {
				return err
			}
		}
		if in.Scope == authz.Global {
			return nil
		}
		reason := fmt.Sprintf("the role %s has no patterns", in.RoleID)
		for _, pattern := range given {
			var err error
			if reason, err = why("validateGrantableAt", fields{"pattern": pattern, "scope": in.Scope}); err != nil || reason == "" {
				return err
			}
		}
		return authz.Validation("grant %s: %s", key, reason)
	}
	for _, step := range p.steps {
		var err error
		switch step.op {
		case "createRole":
			input := step.params["input"].(fields)
			err = role(input["id"], input)
		case "updateRole":
			err = role(step.params["roleId"], step.params["input"].(fields))
		case "createGrants":
			for _, in := range step.params["inputs"].([]provider.GrantInput) {
				if err = grant(in); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
