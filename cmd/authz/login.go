package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/internal/hostedclient"
)

func newLogin() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "login --url URL --org ORG",
		Short: "Keep an admin key, for the commands over the hosted API",
		Long: `Ask for an admin key, check it, and keep it for the commands that take --org. The key comes
from the prompt or from standard input, never from the command line, where others could
read it. It acts as the seat of whoever made it, which the audit log names.

An admin key is made with a session ("POST …/api-keys"), within 15 minutes of its sign-in:
after that the host asks to sign in again. The key itself needs no recent sign-in.

Keys are kept in authz/credentials below your configuration folder, for you alone to read;
of several logins the last is the default. --token-file, or AUTHZ_TOKEN_FILE, takes their
place, for instance in CI; a principal key works there too.`,
		Example: `  authz login --url https://authz.example --org acme
  authz login --url https://authz.example --org acme < admin.key`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.check(); err != nil {
				return err
			}
			return a.login(c)
		},
	}
	c.Flags().StringVar(&a.url, "url", "", "the host, such as https://authz.example (default: as at the last login to the org)")
	c.Flags().Var(named{&a.org}, "org", "the org (required)")
	_ = c.RegisterFlagCompletionFunc("org", orgsLoggedInTo)
	a.addCAFile(c)
	a.addConfig(c, "the configuration of the host: the command asks its service.public_url")
	a.outputFlag.add(c)
	needs(c, "org")
	return c
}

func (a *admin) login(c *cobra.Command) error {
	base, err := a.base()
	if err != nil {
		return err
	}
	if base == "" {
		saved, err := readLogins()
		if err != nil {
			return err
		}
		before, err := saved.find("", a.org)
		if err != nil && a.config != "" {
			before.URL, err = a.publicURL()
		}
		if err != nil {
			return usageError{errors.New("--url is required at the first login to an org: the address of the host")}
		}
		base = before.URL
	}
	if err := checkURL(base); err != nil {
		return usageError{err}
	}
	token, err := readKey(c.Context(), c.InOrStdin(), c.ErrOrStderr(), fmt.Sprintf("Admin key of %s at %s: ", a.org, base))
	if err != nil {
		return err
	}
	switch kind, _, ok := secret.ParseToken(token); {
	case !ok:
		return usageError{errors.New("this is no key: an admin key has the form " + secret.PrefixAdmin + "…, whole and on one line")}
	case kind != secret.PrefixAdmin:
		return usageError{fmt.Errorf("this is no admin key: those begin with %s, this one with %s", secret.PrefixAdmin, kind)}
	}
	ca, err := kept(a.caFile)
	if err != nil {
		return err
	}
	over, err := transport(base, ca)
	if err != nil {
		return err
	}
	h := newHosted(base, a.org, token, over)
	var me service.MeAnswer
	if err := h.Ask(c.Context(), http.MethodGet, []string{"me"}, nil, nil, &me); err != nil {
		return err
	}
	if err := changeLogins(func(s *savedLogins) {
		s.put(savedLogin{URL: base, Org: a.org, UserID: me.Caller.UserID, Token: token, CAFile: ca})
	}); err != nil {
		return fmt.Errorf("the key is good but was not kept: %w", err)
	}
	return a.printed(c, me, func(w io.Writer) {
		fmt.Fprintf(w, "logged in to %s at %s as %s, %s\n", plain(me.Org), base, plain(me.Caller.UserID), seatText(me.Seat))
	})
}

// maxKey bounds what is read in place of a key.
const maxKey = 4096

// readKey reads a key from a terminal without showing it, or from whatever
// standard input is.
func readKey(ctx context.Context, in io.Reader, to io.Writer, prompt string) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(to, prompt)
		before, err := term.GetState(int(f.Fd()))
		if err != nil {
			return "", err
		}
		type typed struct {
			text []byte
			err  error
		}
		given := make(chan typed, 1)
		go func() { // a read cannot be interrupted; one that was left ends with the process
			text, err := term.ReadPassword(int(f.Fd()))
			given <- typed{text, err}
		}()
		defer fmt.Fprintln(to)
		select {
		case t := <-given:
			return strings.TrimSpace(string(t.text)), t.err
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), term.Restore(int(f.Fd()), before))
		}
	}
	text, err := bufio.NewReader(io.LimitReader(in, maxKey+1)).ReadString(0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if len(text) > maxKey {
		return "", usageError{errors.New("standard input holds more than a key")}
	}
	return strings.TrimSpace(text), nil
}

func seatText(s *service.SeatSummary) string {
	if s == nil {
		return "no seat"
	}
	return s.Kind + " seat, " + s.State
}

func newLogout() *cobra.Command {
	a := &admin{}
	var everywhere bool
	c := &cobra.Command{
		Use:   "logout",
		Short: "Forget a key that login kept",
		Long: `Forget the key of the last login, of --org, or with --all of every login. The key itself
works on until it is revoked: 'authz key revoke', with the id that is printed.`,
		Example: `  authz logout
  authz logout --org acme --url https://authz.example`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if everywhere && (a.org != "" || a.url != "") {
				return usageError{errors.New("--all stands alone")}
			}
			saved, err := readLogins()
			if err != nil {
				return err
			}
			gone := saved.Logins
			if !everywhere {
				one, err := saved.find(normalURL(a.url), a.org)
				if err != nil {
					return err
				}
				gone = []savedLogin{one}
			}
			if err := changeLogins(func(s *savedLogins) {
				for _, l := range gone {
					s.remove(l.URL, l.Org)
				}
			}); err != nil {
				return err
			}
			for _, l := range gone {
				_, id, _ := secret.ParseToken(l.Token)
				fmt.Fprintf(c.OutOrStdout(), "the key %s of %s at %s is forgotten; it works until it is revoked\n", id, l.Org, l.URL)
			}
			return nil
		},
	}
	c.Flags().StringVar(&a.url, "url", "", "the host (default: the only one of the org)")
	c.Flags().Var(named{&a.org}, "org", "the org (default: that of the last login)")
	c.Flags().BoolVar(&everywhere, "all", false, "forget every key")
	_ = c.RegisterFlagCompletionFunc("org", orgsLoggedInTo)
	return c
}

func newWhoami() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "whoami",
		Short: "Show whose key is used, and what it may do in the org",
		Long: `Show whose key is used and where, where the org's own data lives, and every permission that
it holds: cloud.* over the account, authz_internal.* over groups, roles, people and grants.`,
		Example: `  authz whoami
  authz whoami --org acme -o json | jq .permissions`,
		Args: cobra.NoArgs,
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, _ []string) error {
			var me service.MeAnswer
			if err := h.Ask(c.Context(), http.MethodGet, []string{"me"}, nil, nil, &me); err != nil {
				return err
			}
			return a.printed(c, me, func(w io.Writer) { printMe(w, h, me) })
		}),
	}
	a.hostedOnly(c)
	return c
}

func printMe(w io.Writer, h *hostedclient.Client, me service.MeAnswer) {
	_, id, _ := secret.ParseToken(h.Token)
	root := me.OrgRoot.Home
	if me.OrgRoot.Application != "" {
		root += " " + me.OrgRoot.Application
	}
	if me.OrgRoot.Home != "none" {
		root += ", reachable: " + strconv.FormatBool(me.OrgRoot.Reachable)
	}
	table(w, [][]string{
		{"org", me.Org}, {"at", h.URL}, {"user", orDash(cmp.Or(me.Caller.UserID, me.Caller.ServiceID))},
		{"with", string(me.Caller.Kind) + " " + id}, {"seat", seatText(me.Seat)}, {"org root", root},
	})
	rows := [][]string{{"PERMISSION", "AT"}}
	for _, held := range append(append([]service.HeldKey{}, me.Permissions.Account...), me.Permissions.Org...) {
		rows = append(rows, []string{held.Key, strings.Join(held.Scopes, ", ")})
	}
	if len(rows) > 1 {
		fmt.Fprintln(w)
		table(w, rows)
	}
	if me.Permissions.Org == nil {
		fmt.Fprintln(w, "\nthe org root does not answer: which authz_internal.* permissions the key holds is not known")
	}
}
