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

	hostdirectory "github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/directory"
)

func newDirectory() *cobra.Command {
	c := &cobra.Command{Use: "directory", Short: "Bring people and groups from an outside directory", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newDirectoryList(), newDirectoryImport(), newDirectoryCancel(), newDirectoryApply())
	return c
}

func newDirectoryApply() *cobra.Command {
	t, o := &target{}, &outputFlag{}
	var file, source string
	var options directory.Options
	var most float64
	c := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Apply a directory snapshot to an application",
		Long: `Apply a snapshot of groups, memberships, reporting edges, orgs and users (JSON or YAML).
What the snapshot leaves out is left alone, unless --authoritative. With --max-deactivations
a snapshot that would make more than that share of the active people inactive is refused,
whole, unless --confirm-deactivations.

A large snapshot is written in many commits. Interrupting the command ends it after one of
them; applying the snapshot again does the rest.`,
		Example: `  authz directory apply -f people.yaml --source okta
  export-people | authz directory apply -f - --source okta --authoritative --max-deactivations 0.1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if c.Flags().Changed("max-deactivations") {
				options.MaxDeactivations = &most
			}
			snapshot, err := input.JSON(c.InOrStdin(), file, directory.Snapshot{})
			if err != nil {
				return err
			}
			local, err := t.local()
			if err != nil {
				return err
			}
			app, err := onlyApp(c.Context(), local, t.app)
			if err != nil {
				return err
			}
			var result directory.Result
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			err = local.Call(ctx, app, "importDirectory", map[string]any{
				"snapshot": snapshot, "source": source, "options": options,
			}, &result)
			if ctx.Err() != nil {
				return errors.New("interrupted: what the host had written by then stands, and applying the snapshot again does the rest")
			}
			if err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				fmt.Fprintf(w, "applied to %s\n", app)
				for _, warning := range result.Warnings {
					fmt.Fprintln(w, "warning: "+warning)
				}
				if options.Authoritative {
					fmt.Fprintf(w, "deactivated %d users\n", len(result.DeactivatedUsers))
				}
			})
		},
	}
	t.addSocket(c)
	t.addApp(c)
	o.add(c)
	c.Flags().StringVarP(&file, "file", "f", "", "the snapshot, - for standard input (required)")
	c.Flags().StringVar(&source, "source", "", "what the audit log calls the directory (required)")
	c.Flags().BoolVar(&options.Authoritative, "authoritative", false, "take away what the snapshot's datasets leave out")
	c.Flags().Float64Var(&most, "max-deactivations", 0, "share of the active people, 0 to 1, that may become inactive (default: any)")
	c.Flags().BoolVar(&options.Confirmed, "confirm-deactivations", false, "carry out what --max-deactivations would refuse")
	_ = c.MarkFlagFilename("file", "json", "yaml", "yml")
	needs(c, "file", "source")
	return c
}

func newDirectoryList() *cobra.Command {
	t, o := &target{}, &outputFlag{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the configured directories and what became of their last runs",
		Example: `  authz directory list`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var result directoryList
			if err := askHost(c.Context(), t, o, "directories", nil, &result); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				rows := [][]string{{"NAME", "APPLICATION", "IMPORTER", "SCHEDULE", "STATE", "LAST", "ENDED", "LAST SUCCESS", "NEXT", "ERROR"}}
				for _, d := range result.Directories {
					row := []string{d.Name, d.Application, d.Importer, orDash(d.Schedule), directoryState(d), "-", "-", "-", "-", ""}
					if last := d.Last; last != nil {
						row[5], row[6], row[9] = string(last.Result), words.Instant(last.EndedAt), last.Error
					}
					if last := d.LastSuccess; last != nil {
						row[7] = words.Instant(last.EndedAt)
					}
					if d.Next != 0 {
						row[8] = words.Instant(d.Next)
					}
					rows = append(rows, row)
				}
				table(w, rows)
			})
		},
	}
	t.addSocket(c)
	o.add(c)
	return c
}

type directoryList struct {
	Directories []hostdirectory.Status `json:"directories"`
}

// directoryState says what a directory does, and how far it is.
func directoryState(d hostdirectory.Status) string {
	if d.Run == nil {
		if d.Stale {
			return d.State + ", as last known: storage does not answer"
		}
		return d.State
	}
	text := d.Run.Phase
	if applied := d.Run.Applied; applied != nil {
		return fmt.Sprintf("%s, %d of %d%s", text, applied.People, applied.OfPeople, appliedText(applied))
	}
	if d.Run.Expected > 0 {
		return fmt.Sprintf("%s, %d of about %d", text, d.Run.Entries, d.Run.Expected)
	}
	if d.Run.Entries > 0 {
		text += fmt.Sprintf(", %d", d.Run.Entries)
	}
	return text
}

// appliedText follows the number of people of a run that writes.
func appliedText(p *directory.Progress) string {
	text := fmt.Sprintf(" people, %d commits", p.Commits)
	if p.Left > 0 {
		text += fmt.Sprintf(", about %s left", max(time.Second, time.Duration(p.Left)*time.Millisecond).Round(time.Second))
	}
	if p.Failures > 0 {
		text += fmt.Sprintf(", %d failures, the last: %s", p.Failures, plain(p.Failure))
	}
	return text
}

func newDirectoryCancel() *cobra.Command {
	t, o := &target{}, &outputFlag{}
	c := &cobra.Command{
		Use:     "cancel NAME",
		Short:   "End a run of a directory; what it has written stands, and the next run does the rest",
		Example: `  authz directory cancel staff`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var result struct {
				Cancelled bool `json:"cancelled"`
			}
			if err := askHost(c.Context(), t, o, "directory.cancel", fields{"name": args[0]}, &result); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				if result.Cancelled {
					fmt.Fprintln(w, "cancelled")
				} else {
					fmt.Fprintln(w, "this host is not running it")
				}
			})
		},
	}
	t.addSocket(c)
	o.add(c)
	c.ValidArgsFunction = t.completeDirectories
	return c
}

// completeDirectories completes the first argument.
func (t *target) completeDirectories(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	local, err := t.local()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	var result directoryList
	_ = local.Host(ctx, "directories", nil, &result) // nothing to offer then
	var offered []string
	for _, d := range result.Directories {
		if strings.HasPrefix(d.Name, typed) {
			offered = append(offered, described(d.Name, d.Application))
		}
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// progressPause is how long the progress of a run waits for the next look.
const progressPause = 300 * time.Millisecond

// follow tells on a terminal how far the host's run is, until the function that it
// returns is called.
func follow(ctx context.Context, local *adminsocket.Client, name string, p *progress) (stop func()) {
	if !p.terminal {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-time.After(progressPause):
			case <-ctx.Done():
				return
			}
			var result directoryList
			if local.Host(ctx, "directories", nil, &result) != nil {
				continue // the run itself says what is wrong
			}
			for _, d := range result.Directories {
				if d.Name == name && d.Run != nil {
					p.doing, p.note = d.Run.Phase, ""
					if applied := d.Run.Applied; applied != nil {
						p.note = appliedText(applied)
						p.tell(applied.People, applied.OfPeople, name)
						continue
					}
					p.tell(int(d.Run.Entries), int(max(d.Run.Expected, d.Run.Entries)), name)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
		p.end()
	}
}
