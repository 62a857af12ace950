package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
)

func newRetention() *cobra.Command {
	c := &cobra.Command{Use: "retention", Short: "Copies that the org keeps of its applications' audit logs", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newRetentionSwitch("on", true, "Keep a copy of an application's audit log from now on",
		`Keep a copy of an application's audit log. The application has to agree: provider.audit_opt_in in
its configuration. Every five minutes the host copies what is new; nothing of it is ever deleted.`),
		newRetentionSwitch("off", false, "Copy an application's audit log no longer", `Copy an application's audit log no longer. What was copied stays.`),
		newRetentionIngest(), newRetentionList(), newRetentionExport())
	return c
}

func newRetentionSwitch(name string, on bool, short, long string) *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     name + " APP",
		Short:   short,
		Long:    long,
		Example: "  authz retention " + name + " docs",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askApplication(c, http.MethodPost, []string{args[0], "audit-optin"}, fields{"optIn": on})
		},
	}
	c.ValidArgsFunction = first(a.applicationIDs())
	a.hostedOnly(c)
	return c
}

func newRetentionIngest() *cobra.Command {
	a := &admin{}
	var exit bool
	c := &cobra.Command{
		Use:   "ingest APP",
		Short: "Copy now what is new in an application's audit log",
		Long: `Copy now what is new in an application's audit log, and say whether the log is still what it
was: an entry that differs from its copy, or a broken chain of hashes, is a mismatch.`,
		Example: `  authz retention ingest docs --exit-code`,
		Args:    cobra.ExactArgs(1),
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			var r retention.Result
			if err := h.Ask(c.Context(), http.MethodPost, []string{"applications", args[0], "ingest-audit"}, nil, fields{}, &r); err != nil {
				return err
			}
			if err := a.printed(c, r, func(w io.Writer) {
				fmt.Fprintf(w, "%d entries copied, %d were there; integrity: %s\n", r.Ingested, r.Duplicates, plain(string(r.Integrity)))
				if r.Paused != nil {
					fmt.Fprintf(w, "paused: %s\n", plain(*r.Paused))
				}
				if r.More {
					fmt.Fprintln(w, "there is more: run it again")
				}
			}); err != nil {
				return err
			}
			if exit && r.Integrity != retention.Intact {
				return errDenied
			}
			return nil
		}),
	}
	c.ValidArgsFunction = first(a.applicationIDs())
	a.hostedOnly(c)
	c.Flags().BoolVar(&exit, "exit-code", false, fmt.Sprintf("exit with %d when the log is not what it was", exitDenied))
	return c
}

func newRetentionList() *cobra.Command {
	a, f := &admin{}, &auditFlags{}
	var limit int
	var of string
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the newest entries that were copied, oldest first",
		Long: `Show the newest entries that were copied, of one application or of all, oldest first. It reads
the copies, so it works while an application is away.`,
		Example: `  authz retention list --application docs --action grant.create --from 30d`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 || limit > pageSize {
				return usageError{fmt.Errorf("--limit must be from 1 to %d", pageSize)}
			}
			filter, err := f.filter(c)
			if err != nil {
				return err
			}
			if of != "" {
				filter["application"] = of
			}
			h, err := a.service(c)
			if err != nil {
				return err
			}
			f.known(c, false)
			knownApplication(c, h, of)
			l := a.listing(c.OutOrStdout(), "events", "APPLICATION", "AT", "ACTOR", "ACTION", "TARGET", "DETAIL")
			return all(c, h, []string{"retention"}, filter, limit, l, func(e retention.Event) []string {
				return []string{e.Application, words.Instant(e.At), e.Actor, e.Action, e.Target, orDash(string(e.Detail))}
			})
		},
	}
	a.hostedOnly(c)
	f.add(c, a, "")
	c.Flags().Var(named{&of}, "application", "only those of this application")
	_ = c.RegisterFlagCompletionFunc("application", a.applicationIDs())
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return c
}

// knownApplication warns of an application that the org does not have. What was copied of one
// that it had is there still.
func knownApplication(c *cobra.Command, h *hostedclient.Client, application string) {
	if application == "" {
		return
	}
	var refused *hostedclient.Error
	err := h.Ask(c.Context(), http.MethodGet, []string{"applications", application}, nil, nil, nil)
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		fmt.Fprintf(c.ErrOrStderr(), "warning: the org has no application %s now; 'authz application list' shows those there are\n", spell.Quote(application))
	}
}
