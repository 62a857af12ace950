package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/terminal"
	"github.com/authzhost/authz/sdk/authz"
)

// movePatience is longer than the hosted API lets a move answer.
const movePatience = 3 * time.Minute

// mover are the flags of what moves an organization.
type mover struct {
	admin
	dry, watch bool
}

func (m *mover) add(c *cobra.Command) {
	c.ValidArgsFunction = first(m.applicationIDs())
	m.hostedOnly(c)
	m.asks(c)
	c.Flags().BoolVar(&m.dry, "dry-run", false, "show what would happen, and change nothing")
	c.Flags().BoolVar(&m.watch, "watch", false, "tell each step, and wait as long as it takes")
}

func newLinkedFederate() *cobra.Command {
	m := &mover{}
	var file string
	c := &cobra.Command{
		Use:   "federate APP",
		Short: "Move an application's organization to the hosted service",
		Long: `Move an application's people, groups, roles and global rows to the hosted service, which
keeps them from then on; where it keeps the org's already, the two are merged. A dry run comes
first: it shows what moves and what contradicts. Conflicts are settled by --resolutions, a file
that the dry run shows the beginning of.

Meanwhile nobody writes the organization; checks go on. A move goes on when this command is broken
off, and the same command waits for it again. What to look at before and after is in the guide
docs/federation.md.`,
		Example: `  authz application federate docs --dry-run
  authz application federate mail --resolutions decided.yaml --watch`,
		Args: cobra.ExactArgs(1),
		RunE: m.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			body := fields{}
			if file != "" {
				var decided resolutionsFile
				if err := input.Into(c.InOrStdin(), file, &decided); err != nil {
					return err
				}
				body["resolutions"] = decided.Resolutions
				if decided.Fingerprint != "" {
					body["fingerprint"] = decided.Fingerprint
				}
			}
			return m.federate(c, h, args[0], body)
		}),
	}
	m.add(c)
	c.Flags().StringVar(&file, "resolutions", "", "a file that settles conflicts, JSON or YAML; - is standard input")
	_ = c.MarkFlagFilename("resolutions", "json", "yaml", "yml")
	return c
}

func (m *mover) federate(c *cobra.Command, h *hostedclient.Client, app string, body fields) error {
	h.Patience = movePatience
	path := []string{"applications", app, "federate"}
	underway, err := m.underway(c, h, app, applications.MoveFederate)
	if err != nil {
		return err
	}
	if !underway {
		var plan federation.Federated
		quiet := *h // its warnings are part of what is shown
		quiet.Warn = nil
		dry := fields{"dryRun": true}
		for name, value := range body {
			dry[name] = value
		}
		if err := quiet.Ask(c.Context(), http.MethodPost, path, nil, dry, &plan); err != nil {
			return m.conflicting(c, app, err)
		}
		if m.dry {
			return m.printed(c, plan, func(w io.Writer) { printFederation(w, app, plan) })
		}
		if len(plan.Conflicts) > 0 {
			printed := m.printed(c, plan, func(w io.Writer) { printFederation(w, app, plan) })
			return errors.Join(fmt.Errorf("%s: settle each in a file, and name it with --resolutions", conflictsText(len(plan.Conflicts))), printed)
		}
		printFederation(c.ErrOrStderr(), app, plan)
		if err := m.sure(c, plain("Move the organization of "+app+" to the hosted service?")); err != nil {
			return err
		}
	}
	var done federation.Federated
	if err := m.moving(c, h, app, path, body, &done); err != nil {
		return m.conflicting(c, app, err)
	}
	return m.printed(c, done, func(w io.Writer) {
		fmt.Fprintf(w, "%s is federated: %s came with it\n", plain(app), countsText(done.Imported))
	})
}

// underway tells whether the same move goes on already: it is waited for, not planned.
func (m *mover) underway(c *cobra.Command, h *hostedclient.Client, app, kind string) (bool, error) {
	var now applicationResult
	if err := h.Ask(c.Context(), http.MethodGet, []string{"applications", app}, nil, nil, &now); err != nil {
		return false, err
	}
	op := now.Application.Operation
	if op == nil || op.Kind != kind || m.dry {
		return false, nil
	}
	fmt.Fprintln(c.ErrOrStderr(), plain("waiting for the move that is under way: "+operationText(*op)))
	return true, nil
}

// moving makes the call and tells the steps of what it does.
func (m *mover) moving(c *cobra.Command, h *hostedclient.Client, app string, path []string, body fields, result any) error {
	errs := c.ErrOrStderr()
	told := m.watch
	if f, ok := terminal.File(errs); ok && term.IsTerminal(int(f.Fd())) {
		told = true
	}
	for {
		ctx, stop := context.WithCancel(c.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if told {
				tellSteps(ctx, h, app, errs)
			}
		}()
		err := h.Ask(c.Context(), http.MethodPost, path, nil, body, result)
		stop()
		<-ended
		var late *hostedclient.Error
		if m.watch && errors.As(err, &late) && late.Code == "application_timeout" && late.Outcome == "unknown" {
			fmt.Fprintln(errs, "it takes longer than one answer may; waiting further")
			continue
		}
		return err
	}
}

// tellSteps prints each step that the move reaches, until ctx ends.
func tellSteps(ctx context.Context, h *hostedclient.Client, app string, to io.Writer) {
	last := ""
	for tick := time.NewTicker(500 * time.Millisecond); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
		var now applicationResult
		if h.Ask(ctx, http.MethodGet, []string{"applications", app}, nil, nil, &now) != nil || now.Application.Operation == nil {
			continue
		}
		if text := operationText(*now.Application.Operation); text != last {
			fmt.Fprintln(to, plain(text))
			last = text
		}
	}
}

var stepTexts = map[string]string{
	"freeze": "nobody writes the organization from here on",
	"stage":  "reading and judging it",
	"flip":   "the application takes it",
	"take":   "the hosted service takes it",
	"verify": "asking the application what it is now",
}

func operationText(o applications.Operation) string {
	text := o.Kind + ", step " + o.Step
	if what := stepTexts[o.Step]; what != "" {
		text += ": " + what
	}
	if o.Trouble != "" {
		text += " (stands still: " + o.Trouble + ")"
	}
	return text
}

// conflicting shows the conflicts of an error that has any.
func (m *mover) conflicting(c *cobra.Command, app string, err error) error {
	var found *authz.PromotionConflictError
	if !errors.As(err, &found) || len(found.Conflicts) == 0 {
		return err
	}
	shown := federation.Federated{Conflicts: found.Conflicts, Fingerprint: found.Fingerprint, Warnings: []string{}}
	printed := m.printed(c, shown, func(w io.Writer) { printConflicts(w, app, found.Conflicts, found.Fingerprint) })
	return errors.Join(err, printed)
}

func conflictsText(n int) string {
	if n == 1 {
		return "1 conflict"
	}
	return fmt.Sprintf("%d conflicts", n)
}

func printFederation(w io.Writer, app string, plan federation.Federated) {
	fmt.Fprintf(w, "%s brings %s\n", plain(app), countsText(plan.Imported))
	for _, v := range plan.VirtualParents {
		fmt.Fprintf(w, "groups that reach each other get one above them: %s for %s\n", plain(v.ID), plain(strings.Join(v.Members, ", ")))
	}
	for _, warning := range plan.Warnings {
		fmt.Fprintf(w, "warning: %s\n", plain(warning))
	}
	if len(plan.Conflicts) > 0 {
		printConflicts(w, app, plan.Conflicts, plan.Fingerprint)
	}
}

var kindTexts = map[authz.ConflictKind]string{
	authz.ConflictRoleID:         "two roles have one id",
	authz.ConflictGroupID:        "two groups have one id",
	authz.ConflictReportingEdge:  "two managers for one person",
	authz.ConflictReportingCycle: "people who manage each other",
	authz.ConflictWidens:         "it meant one application, and would mean the organization",
}

var actionTexts = map[authz.ConflictAction]string{
	authz.ActionRenameIncoming: "what the application brings gets another id (newId); what names it there follows",
	authz.ActionRenameCurrent:  "what the org has gets another id (newId); what names it follows",
	authz.ActionUnite:          "the two are one: both sides' people and rights come together",
	authz.ActionChoose:         "say who the manager is (managerUserId), null for none",
	authz.ActionNarrow:         "it keeps to its application's own namespaces",
	authz.ActionAccept:         "it stands as it is, for the whole organization",
}

// printConflicts says what contradicts what, what may be done about it, and how a file of
// resolutions begins.
func printConflicts(w io.Writer, app string, conflicts []authz.Conflict, fingerprint string) {
	for _, c := range conflicts {
		fmt.Fprintf(w, "\n%s: %s\n", plain(c.ID), kindTexts[c.Kind])
		for _, side := range []struct {
			name string
			raw  []byte
		}{{"org", c.Current}, {app, c.Incoming}} {
			if len(side.raw) > 0 {
				fmt.Fprintf(w, "  %s has %s\n", plain(side.name), plain(string(side.raw)))
			}
		}
		if len(c.Path) > 0 {
			fmt.Fprintf(w, "  %s\n", plain(strings.Join(c.Path, " → ")))
		}
		if len(c.Beyond) > 0 {
			fmt.Fprintf(w, "  it reaches beyond by %s; narrowed it is %s\n", plain(strings.Join(c.Beyond, ", ")), plain(orDash(strings.Join(c.Narrowed, ", "))))
		}
		for _, a := range c.Actions {
			fmt.Fprintf(w, "  %-16s %s\n", a, actionTexts[a])
		}
		for _, b := range c.Blocked {
			fmt.Fprintf(w, "  not %s: %d %s of %s name it; re-point them first\n", b.Action, b.Count, strings.ReplaceAll(string(b.Reason), "_", " "), plain(b.Application))
		}
	}
	fmt.Fprintf(w, "\nA file for --resolutions begins like this:\n\nfingerprint: %q\nresolutions:\n", fingerprint)
	for _, c := range conflicts {
		if len(c.Actions) == 0 {
			continue
		}
		fmt.Fprintf(w, "  %q: {action: %s%s}\n", c.ID, c.Actions[0], membersOf(c))
	}
}

// membersOf are those that the first action takes.
func membersOf(c authz.Conflict) string {
	switch c.Actions[0] {
	case authz.ActionRenameIncoming, authz.ActionRenameCurrent:
		return `, newId: ""`
	case authz.ActionChoose:
		if c.Kind == authz.ConflictReportingCycle {
			return fmt.Sprintf(", userId: %q, managerUserId: null", c.Path[0])
		}
		return ", managerUserId: null"
	}
	return ""
}

func newLinkedDemote() *cobra.Command {
	m := &mover{}
	c := &cobra.Command{
		Use:   "demote APP",
		Short: "Give the organization back to its last application",
		Long: `Give the organization back to the last application that is federated. It gets everything, and
takes the organization's writes from then on. Rights to the hosted service itself stay there.`,
		Example: `  authz application demote docs --dry-run
  authz application demote docs --yes`,
		Args: cobra.ExactArgs(1),
		RunE: m.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			app, path := args[0], []string{"applications", args[0], "demote"}
			h.Patience = movePatience
			underway, err := m.underway(c, h, app, applications.MoveDemote)
			if err != nil {
				return err
			}
			if !underway {
				var plan federation.Demoted
				quiet := *h
				quiet.Warn = nil
				if err := quiet.Ask(c.Context(), http.MethodPost, path, nil, fields{"dryRun": true}, &plan); err != nil {
					return err
				}
				if m.dry {
					return m.printed(c, plan, func(w io.Writer) { printDemotion(w, app, plan) })
				}
				printDemotion(c.ErrOrStderr(), app, plan)
				if err := m.sure(c, plain("Give the organization back to "+app+"?")); err != nil {
					return err
				}
			}
			var done federation.Demoted
			if err := m.moving(c, h, app, path, fields{}, &done); err != nil {
				return err
			}
			return m.printed(c, done, func(w io.Writer) {
				fmt.Fprintf(w, "%s is the org root again: it got %s\n", plain(app), countsText(done.Exported))
			})
		}),
	}
	m.add(c)
	return c
}

func printDemotion(w io.Writer, app string, plan federation.Demoted) {
	fmt.Fprintf(w, "%s gets %s\n", plain(app), countsText(plan.Exported))
	fmt.Fprintf(w, "%d roles and %d grants of cloud.* stay with the hosted service\n", len(plan.LeftBehind.Roles), len(plan.LeftBehind.Grants))
	for _, warning := range plan.Warnings {
		fmt.Fprintf(w, "warning: %s\n", plain(warning))
	}
}

func newLinkedSync() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "sync [APP]",
		Short: "Push the organization to its federated applications now",
		Long: `Push the organization to its federated applications now, or to one. The hosted service does so by
itself within seconds of a change; this shows what each answers. It ends with an error when one
did not take it.`,
		Example: `  authz application sync
  authz application sync docs`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			body := fields{}
			if len(args) == 1 {
				body["application"] = args[0]
			}
			h.Patience = movePatience
			var done struct {
				Results []federation.Synced `json:"results"`
			}
			if err := h.Ask(c.Context(), http.MethodPost, []string{"sync"}, nil, body, &done); err != nil {
				return err
			}
			missed := 0
			rows := [][]string{{"APPLICATION", "RESULT", "POSITION", "TOOK"}}
			for _, r := range done.Results {
				row := []string{r.Application, "applied", "-", "-"}
				if !r.Applied {
					missed++
					row[1] = r.Code
				}
				if r.Seq != nil {
					row[2] = fmt.Sprint(*r.Seq)
				}
				if r.DurationMs != nil {
					row[3] = (time.Duration(*r.DurationMs) * time.Millisecond).String()
				}
				rows = append(rows, row)
			}
			if err := a.printed(c, done, func(w io.Writer) { table(w, rows) }); err != nil || missed == 0 {
				return err
			}
			return fmt.Errorf("%d of %d applications did not take it: they keep what they have, and are asked again", missed, len(done.Results))
		}),
	}
	c.ValidArgsFunction = first(a.applicationIDs())
	a.hostedOnly(c)
	return c
}
