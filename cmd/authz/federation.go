package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/terminal"
	"github.com/authzhost/authz/internal/words"
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
	var file, fingerprint string
	c := &cobra.Command{
		Use:   "federate APP",
		Short: "Move an application's organization to the hosted service",
		Long: `Move an application's people, groups, roles and global rows to the hosted service, which
keeps them from then on; where it keeps the org's already, the two are merged. A dry run comes
first: it shows what moves, and each conflict with what may be done about it.

With conflicts nothing moves. Standard output then gets a file for --resolutions, in which each of
them has a line for every way to settle it:

  fingerprint: "sha256:…"
  resolutions:
    "role:editor": {action: rename_incoming, newId: "mail-editor"}
    "group:ops": {action: unite}
    "manager:u_7": {action: choose, managerUserId: "m_2"}
    "widens:incoming:grant:g_7": {action: narrow}

  rename_incoming, rename_current   one of the two gets another id, newId
  unite                             the two are one
  choose                            who the manager is, null for nobody
  narrow                            a row keeps to the permissions of its application
  accept                            a row stands for the whole organization

The fingerprint says which conflicts you decided about. When others have arisen since, the command
says so and nothing moves.

While the organization moves nobody writes it; checks go on. A move goes on when this command is
broken off, and the same command waits for it again. What to look at before and after is in the
guide docs/federation.md.`,
		Example: `  authz application federate docs --dry-run
  authz application federate mail > decided.yaml
  authz application federate mail --resolutions decided.yaml --watch`,
		Args: cobra.ExactArgs(1),
		RunE: m.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			decided := resolutions{}
			if file != "" {
				var err error
				if decided, err = readResolutions(c.InOrStdin(), file, !m.yes && !m.dry); err != nil {
					return err
				}
			}
			if fingerprint != "" {
				if in := decided.fingerprint; in != "" && in != fingerprint {
					return usageError{fmt.Errorf("%s was written for other conflicts than those of --fingerprint: its fingerprint is %s", input.Name(file), in)}
				}
				decided.fingerprint = fingerprint
			}
			f := federate{mover: m, h: h, app: args[0], decided: decided, next: settledBy(c, file)}
			return f.run(c)
		}),
	}
	m.add(c)
	c.Flags().StringVar(&file, "resolutions", "", "a file that settles conflicts, JSON or YAML; - is standard input")
	_ = c.MarkFlagFilename("resolutions", "json", "yaml", "yml")
	c.Flags().StringVar(&fingerprint, "fingerprint", "", "of the conflicts that were decided about (default: that of the file)")
	return c
}

// federate is one run of the command.
type federate struct {
	*mover
	h       *hostedclient.Client
	app     string
	decided resolutions
	next    string // the command that takes decisions
}

func (f *federate) run(c *cobra.Command) error {
	path, body := []string{"applications", f.app, "federate"}, fields{}
	if f.decided.decided != nil {
		body["resolutions"] = f.decided.decided
	}
	if f.decided.fingerprint != "" {
		body["fingerprint"] = f.decided.fingerprint
	}
	f.h.Patience = movePatience
	underway, err := f.underway(c, f.h, f.app, applications.MoveFederate)
	if err != nil {
		return err
	}
	if !underway {
		f.h.Warn = nil // its warnings are part of what is shown
		plan, err := f.plan(c, path, body)
		if err != nil {
			return err
		}
		if f.dry {
			return f.printed(c, plan, func(w io.Writer) {
				f.print(w, plan)
				fmt.Fprintln(w, "nothing was moved yet; this moves it: "+plain(sameCommand(c, "dry-run")))
			})
		}
		f.print(c.ErrOrStderr(), plan)
		if err := f.sure(c, plain("Move the organization of "+f.app+" to the hosted service?")); err != nil {
			return err
		}
	}
	var done federation.Federated
	if err := f.moving(c, f.h, f.app, applications.Linked, path, body, &done); err != nil {
		return f.conflicting(c, err)
	}
	return f.printed(c, done, func(w io.Writer) {
		fmt.Fprintf(w, "%s is federated: %s came with it\n", plain(f.app), countsText(done.Imported))
	})
}

// plan makes the dry run. One with open conflicts is shown, and is an error.
func (f *federate) plan(c *cobra.Command, path []string, body fields) (plan federation.Federated, err error) {
	dry := fields{"dryRun": true}
	maps.Copy(dry, body)
	if err := f.h.Ask(c.Context(), http.MethodPost, path, nil, dry, &plan); err != nil {
		return plan, f.conflicting(c, err)
	}
	if len(plan.Conflicts) == 0 {
		return plan, nil
	}
	return plan, f.unsettled(c, plan, plan, f.decided.decided, fmt.Errorf("%s: nothing was moved", conflictsText(len(plan.Conflicts))))
}

// unsettled shows a plan with conflicts: the result is the beginning of a file, and with
// --dry-run all of it; in JSON it is value.
func (f *federate) unsettled(c *cobra.Command, value any, plan federation.Federated, decided map[string]authz.Resolution, err error) error {
	shown := f.format == "text"
	printed := f.printed(c, value, func(w io.Writer) {
		tell := c.ErrOrStderr()
		if f.dry {
			tell = w
		}
		if plan.DryRun { // an error tells conflicts alone
			f.print(tell, plan)
		}
		f.sides().show(tell, w, plan.Conflicts, plan.Fingerprint, decided)
	})
	return errors.Join(unsettled{err, shown, f.next}, printed)
}

// conflicting shows the conflicts of an error that has any. Of a resolution that does not fit
// the error says it all.
func (f *federate) conflicting(c *cobra.Command, err error) error {
	err = ofApplication(err, f.app)
	var found *authz.PromotionConflictError
	if !errors.As(err, &found) || len(found.Conflicts) == 0 || found.Code == authz.InvalidResolution && f.format == "text" {
		return err
	}
	return f.unsettled(c, openConflicts{found.Fingerprint, found.Conflicts}, federation.Federated{Conflicts: found.Conflicts, Fingerprint: found.Fingerprint}, stillDecided(found, f.decided.decided), err)
}

func (f *federate) sides() sides {
	return sides{current: "the org", currentID: f.h.Org, incoming: f.app, incomingID: f.app}
}

func (f *federate) print(w io.Writer, plan federation.Federated) {
	fmt.Fprintf(w, "%s brings %s\n", plain(f.app), countsText(plan.Imported))
	for _, v := range plan.VirtualParents {
		fmt.Fprintf(w, "groups that reach each other get one above them: %s for %s\n", plain(v.ID), plain(strings.Join(v.Members, ", ")))
	}
	for _, warning := range plan.Warnings {
		fmt.Fprintf(w, "warning: %s\n", plain(warning))
	}
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
func (m *mover) moving(c *cobra.Command, h *hostedclient.Client, app string, before applications.State, path []string, body fields, result any) error {
	errs := c.ErrOrStderr()
	told := m.watch
	if f, ok := terminal.File(errs); ok && onTerminal(f) {
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
		if m.watch && errors.As(err, &late) && late.Code == "application_timeout" && late.GoesOn() {
			fmt.Fprintln(errs, "the move takes longer than one answer may, and goes on: waiting further")
			continue
		}
		return m.fate(c, h, app, before, err)
	}
}

// fate has an error say what became of the move: it goes on, or everything is as it was
// before. What failed may have been any of its calls.
func (m *mover) fate(c *cobra.Command, h *hostedclient.Client, app string, before applications.State, err error) error {
	var told *hostedclient.Error
	if !errors.As(ofApplication(err, app), &told) || told.GoesOn() {
		return err
	}
	var now applicationResult
	if h.Ask(c.Context(), http.MethodGet, []string{"applications", app}, nil, nil, &now) != nil {
		return err // nobody knows
	}
	switch {
	case now.Application.Operation != nil:
		told.Operation, _ = json.Marshal(now.Application.Operation) // it was read as JSON just now
	case now.Application.State == before:
		told.Outcome = string(authz.OutcomeNotApplied)
	}
	return err
}

// ofApplication has an error name the application, for what is advised.
func ofApplication(err error, app string) error {
	var told *hostedclient.Error
	if errors.As(err, &told) && told.Application == "" {
		told.Application = app
	}
	return err
}

// tellSteps prints each step that the move reaches, until ctx ends.
func tellSteps(ctx context.Context, h *hostedclient.Client, app string, to io.Writer) {
	last := ""
	for tick := time.NewTicker(time.Second); ; {
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

func newLinkedDemote() *cobra.Command {
	m := &mover{}
	c := &cobra.Command{
		Use:   "demote APP",
		Short: "Give the organization back to its last application",
		Long: `Give the organization back to the last application that is federated. It gets everything, and
takes the organization's writes from then on. Rights to the hosted service itself (cloud.*) stay
there. A dry run comes first: it shows what goes and what stays.

While the organization moves nobody writes it; checks go on. A move goes on when this command is
broken off, and the same command waits for it again.`,
		Example: `  authz application demote docs --dry-run
  authz application demote docs --watch`,
		Args: cobra.ExactArgs(1),
		RunE: m.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			app, path := args[0], []string{"applications", args[0], "demote"}
			h.Patience = movePatience
			underway, err := m.underway(c, h, app, applications.MoveDemote)
			if err != nil {
				return err
			}
			if !underway {
				h.Warn = nil // its warnings are part of what is shown
				var plan federation.Demoted
				if err := h.Ask(c.Context(), http.MethodPost, path, nil, fields{"dryRun": true}, &plan); err != nil {
					return ofApplication(err, app)
				}
				if m.dry {
					return m.printed(c, plan, func(w io.Writer) {
						printDemotion(w, app, plan)
						fmt.Fprintln(w, "nothing was moved yet; this moves it: "+plain(sameCommand(c, "dry-run")))
					})
				}
				printDemotion(c.ErrOrStderr(), app, plan)
				if err := m.sure(c, plain("Give the organization back to "+app+"?")); err != nil {
					return err
				}
			}
			var done federation.Demoted
			if err := m.moving(c, h, app, applications.Federated, path, fields{}, &done); err != nil {
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

// mostListed is how many rows a plan names.
const mostListed = 20

func printDemotion(w io.Writer, app string, plan federation.Demoted) {
	fmt.Fprintf(w, "%s gets %s\n", plain(app), countsText(plan.Exported))
	var left []string
	for _, r := range plan.LeftBehind.Roles {
		left = append(left, "role "+r.ID+" with "+strings.Join(r.Patterns, ", "))
	}
	for _, g := range plan.LeftBehind.Grants {
		left = append(left, "grant "+g.ID+": "+g.Subject+" holds "+words.Gives(g.RoleID, g.Pattern))
	}
	fmt.Fprintf(w, "%d roles and %d grants of cloud.* stay with the hosted service\n", len(plan.LeftBehind.Roles), len(plan.LeftBehind.Grants))
	for i, row := range left {
		if i == mostListed {
			fmt.Fprintf(w, "  and %d more; -o json has them all\n", len(left)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", plain(row))
	}
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
				if len(args) == 1 {
					err = ofApplication(err, args[0])
				}
				return err
			}
			var why []string
			missed := 0
			rows := [][]string{{"APPLICATION", "RESULT", "SEQ", "TOOK"}}
			for _, r := range done.Results {
				row := []string{r.Application, "applied", "-", "-"}
				if !r.Applied {
					missed++
					row[1] = r.Code
					if r.Message != "" {
						why = append(why, plain(r.Application)+": "+plain(r.Message))
					}
				}
				if r.Seq != nil {
					row[2] = fmt.Sprint(*r.Seq)
				}
				if r.DurationMs != nil {
					row[3] = (time.Duration(*r.DurationMs) * time.Millisecond).String()
				}
				rows = append(rows, row)
			}
			if err := a.printed(c, done, func(w io.Writer) {
				table(w, rows)
				for _, line := range why {
					fmt.Fprintln(w, line)
				}
			}); err != nil || missed == 0 {
				return err
			}
			return fmt.Errorf("%d of %d applications did not take it: they keep what they have, and are asked again; 'authz application probe APP' shows how one is", missed, len(done.Results))
		}),
	}
	c.ValidArgsFunction = first(a.applicationIDs())
	a.hostedOnly(c)
	return c
}
