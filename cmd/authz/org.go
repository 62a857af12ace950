package main

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

func newOrg() *cobra.Command {
	c := &cobra.Command{Use: "org", Short: "The org of your login: its name, its root, its log", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newOrgList(), newOrgShow(), newOrgUpdate(), newOrgAudit())
	return c
}

func newOrgList() *cobra.Command {
	o := &outputFlag{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the orgs that you are logged in to, the default first",
		Example: `  authz org list`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			saved, err := readLogins()
			if err != nil {
				return err
			}
			l := o.listing(c.OutOrStdout(), "logins", "ORG", "HOST", "USER")
			for _, s := range saved.Logins {
				if err := l.row(map[string]string{"org": s.Org, "url": s.URL, "userId": s.UserID}, s.Org, s.URL, s.UserID); err != nil {
					return err
				}
			}
			return l.end()
		},
	}
	o.add(c)
	return c
}

type orgResult struct {
	Org account.Org `json:"org"`
}

func (a *admin) showOrg(c *cobra.Command, method string, body any) error {
	h, err := a.service(c)
	if err != nil {
		return err
	}
	var result orgResult
	if err := h.Ask(c.Context(), method, nil, nil, body, &result); err != nil {
		return err
	}
	return a.printed(c, result, func(w io.Writer) {
		org := result.Org
		rows := [][]string{{"org", org.ID}, {"name", org.Name}, {"mode", org.Mode}, {"primary application", textOr(org.PrimaryApplication)}, {"since", words.Instant(org.CreatedAt)}}
		if org.Moving != "" {
			rows = append(rows, []string{"moving", "the organization, with " + org.Moving + ": 'authz application show " + org.Moving + "' shows how far it is"})
		}
		table(w, rows)
	})
}

// textOr is a dash for what is not there.
func textOr(s *string) string {
	if s == nil {
		return "-"
	}
	return orDash(*s)
}

func instantOr(ms *int64, without string) string {
	if ms == nil {
		return without
	}
	return words.Instant(*ms)
}

func newOrgShow() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "show",
		Short:   "Show the org and which application is its root",
		Example: `  authz org show`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.showOrg(c, http.MethodGet, nil) },
	}
	a.hostedOnly(c)
	return c
}

func newOrgUpdate() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "update",
		Short: "Rename the org, or choose its root",
		Long: `Rename the org, or choose the linked application that keeps its groups, roles, people and
global rows. The data of one root does not move to another, but to the hosted service:
'authz application federate'. Owners only.`,
		Example: `  authz org update --name 'Acme Ltd'
  authz org update --primary docs`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			in := given(c, map[string]string{"name": "name", "primary": "primaryApplication"})
			if len(in) == 0 {
				return usageError{fmt.Errorf("say what to change: --name or --primary")}
			}
			return a.showOrg(c, http.MethodPatch, in)
		},
	}
	a.hostedOnly(c)
	c.Flags().String("name", "", "what people call it")
	c.Flags().String("primary", "", "the id of the application that is its root")
	_ = c.RegisterFlagCompletionFunc("primary", a.applicationIDs())
	return c
}

func newOrgAudit() *cobra.Command {
	a, f := &admin{}, &auditFlags{}
	var limit int
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show the newest entries of the account log, oldest first",
		Long: `Show what was done to the account: sign-ins, seats, keys, applications, caps, and grants of
cloud.*. 'authz audit list --org ORG' shows what was done at the org's root.`,
		Example: `  authz org audit --action api_key.create --from 30d`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 || limit > pageSize {
				return usageError{fmt.Errorf("--limit must be from 1 to %d", pageSize)}
			}
			filter, err := f.filter(c)
			if err != nil {
				return err
			}
			h, err := a.service(c)
			if err != nil {
				return err
			}
			filter["details"] = "whole"
			l := a.listing(c.OutOrStdout(), "events", "AT", "ACTOR", "ACTION", "TARGET", "DETAIL")
			return all(c, h, []string{"audit"}, filter, limit, l, func(e authz.AuditEntry) []string {
				return []string{words.Instant(e.At), e.Actor, e.Action, e.Target, orDash(string(e.Detail))}
			})
		},
	}
	a.hostedOnly(c)
	f.add(c, a, "")
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return c
}
