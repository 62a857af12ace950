package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/api"
	hostdirectory "github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

func newDirectoryImport() *cobra.Command {
	t, o := &target{}, &outputFlag{}
	var r hostdirectory.Request
	c := &cobra.Command{
		Use:   "import NAME",
		Short: "Read a configured directory and apply it, or show what that would do",
		Long: `Have the host read the directory (directories.NAME in its configuration) and apply what it
reports: people, groups, memberships, managers, orgs. Only a reading that came to its end is
applied. A run that would make more than max_deactivations of the active people inactive
changes nothing: look at it with --dry-run, then repeat it with --confirm-deactivations.

Interrupting the command ends the run: a reading changes nothing. While the host applies
one, the commits that are done stand, and the next run does the rest.`,
		Example: `  authz directory import staff --dry-run
  authz directory import staff
  authz directory import staff --authoritative --confirm-deactivations`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			local, err := t.local()
			if err != nil {
				return err
			}
			name := args[0]
			defer cancelOnInterrupt(c, local, name)()
			stop := follow(c.Context(), local, name, newProgress(c.ErrOrStderr()))
			var report hostdirectory.Report
			err = local.Call(c.Context(), api.HostApplication, "directory.run", fields{"name": name, "dryRun": r.DryRun,
				"authoritative": r.Authoritative, "confirm": r.Confirmed, "full": r.Full}, &report)
			stop()
			if authz.CodeOf(err) == authz.CodeConflict && !r.Confirmed {
				return fmt.Errorf("%w\n'authz directory import %s --dry-run' shows what a run would do; --confirm-deactivations carries out what the guard refused", err, name)
			}
			if err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), report, func(w io.Writer) { printReport(w, report) })
		},
	}
	t.addSocket(c)
	o.add(c)
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "read and plan, change nothing")
	c.Flags().BoolVar(&r.Authoritative, "authoritative", false, "absence means something, also when the configuration does not say so")
	c.Flags().BoolVar(&r.Confirmed, "confirm-deactivations", false, "carry out what max_deactivations would refuse")
	c.Flags().BoolVar(&r.Full, "full", false, "read the whole directory, also where changes since the last run would do")
	c.ValidArgsFunction = t.completeDirectories
	return c
}

// cancelOnInterrupt has the host end the run at the first signal, so that its answer says
// what stands; a second one ends the command.
func cancelOnInterrupt(c *cobra.Command, local *adminsocket.Client, name string) (done func()) {
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	left := context.AfterFunc(ctx, func() {
		stop()
		if c.Context().Err() != nil {
			return // the run ends with it
		}
		fmt.Fprintln(c.ErrOrStderr(), "\ncancelling the run; interrupt again to leave it at once")
		_ = local.Host(c.Context(), "directory.cancel", fields{"name": name}, nil) // its answer tells
	})
	return func() {
		left()
		stop()
	}
}

func printReport(w io.Writer, r hostdirectory.Report) {
	kind := "all of"
	if r.Incremental {
		kind = "the changes of"
	}
	fmt.Fprintf(w, "read %s %s: %d entries, %d people, %d groups, in %s\n", kind, r.Directory, r.Entries, r.People, r.Groups,
		(time.Duration(r.EndedAt-r.StartedAt) * time.Millisecond).Round(time.Millisecond))
	p := r.Plan
	id := func(id string) string { return id }
	membership := func(m directory.MembershipChange) string { return m.UserID + " in " + m.GroupID }
	edge := func(e directory.ReportingEdge) string { return e.UserID + " to " + e.ManagerID }
	rows := [][]string{{"WHAT", "COUNT", "FIRST"}}
	rows = counted(rows, "people created", p.CreatedPeople, id)
	rows = counted(rows, "people active again", p.ReactivatedPeople, id)
	rows = counted(rows, "people made inactive", p.DeactivatedPeople, id)
	rows = counted(rows, "groups created", p.CreatedGroups, id)
	rows = counted(rows, "groups changed", p.ChangedGroups, id)
	rows = counted(rows, "groups condensed", p.CondensedGroups, func(v directory.VirtualParent) string { return v.ID })
	rows = counted(rows, "memberships added", p.AddedMemberships, membership)
	rows = counted(rows, "memberships removed", p.RemovedMemberships, membership)
	rows = counted(rows, "managers set", p.SetReportingEdges, edge)
	rows = counted(rows, "managers cleared", p.ClearedReportingEdges, id)
	rows = counted(rows, "managers skipped", p.SkippedReportingEdges, edge)
	if len(rows) > 1 {
		table(w, rows)
	} else {
		fmt.Fprintln(w, "nothing differs")
	}
	for _, list := range []directory.Some[string]{r.Reading, p.Warnings} {
		for _, text := range list.First {
			fmt.Fprintln(w, "warning: "+plain(text))
		}
		if more := list.Count - len(list.First); more > 0 {
			fmt.Fprintf(w, "and %d more warnings\n", more)
		}
	}
	switch {
	case r.DryRun && p.Refusal != "":
		fmt.Fprintf(w, "nothing was changed; without --confirm-deactivations it would be refused: %s\n", plain(p.Refusal))
	case r.DryRun:
		fmt.Fprintln(w, "nothing was changed: this was a dry run")
	case r.Audit != nil:
		if a := r.Applied; a != nil && a.Commits > 1 {
			fmt.Fprintf(w, "written in %d commits, after %d failed attempts\n", a.Commits, a.Failures)
		}
		fmt.Fprintf(w, "applied to %s; audit entry %s, at %s\n", r.Application, r.Audit.Import, words.Instant(r.Audit.At))
	}
}

// listed is how many elements a row of the report names.
const listed = 5

func counted[T any](rows [][]string, what string, s directory.Some[T], text func(T) string) [][]string {
	if s.Count == 0 {
		return rows
	}
	var first []string
	for _, v := range s.First[:min(len(s.First), listed)] {
		first = append(first, text(v))
	}
	if s.Count > len(first) {
		first = append(first, "…")
	}
	return append(rows, []string{what, fmt.Sprint(s.Count), strings.Join(first, ", ")})
}
