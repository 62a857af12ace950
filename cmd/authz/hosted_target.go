package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/hostedclient"
)

// named is a flag that names something: an empty one, such as of a variable that
// was never set, must not pass for one that was left out.
type named struct{ value *string }

func (n named) String() string {
	if n.value == nil {
		return ""
	}
	return *n.value
}

func (n named) Type() string { return "string" }

func (n named) Set(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	*n.value = s
	return nil
}

// addOrg adds the flags of the hosted API to a command that has another way too.
func (t *target) addOrg(c *cobra.Command) {
	c.Flags().Var(named{&t.org}, "org", "the org at a host's hosted API instead, with the key of 'authz login'")
	_ = c.RegisterFlagCompletionFunc("org", orgsLoggedInTo)
	url, token := "the host of --org (default: as at 'authz login')", "the file that holds the key for --org (default: $AUTHZ_TOKEN_FILE, else that of 'authz login')"
	if f := c.Flags().Lookup("url"); f != nil {
		f.Usage += "; with --org, " + url
		c.Flags().Lookup("token-file").Usage += "; with --org, " + token
		return
	}
	c.Flags().StringVar(&t.url, "url", "", url)
	c.Flags().StringVar(&t.tokenFile, "token-file", "", token)
	_ = c.MarkFlagFilename("token-file")
	t.addCAFile(c)
	after(c, func() error {
		if t.org == "" && (t.url != "" || t.tokenFile != "") {
			return usageError{errors.New("--url and --token-file go with --org")}
		}
		if t.org == "" && t.caFile != "" {
			return usageError{errors.New("--ca-file goes with --org")}
		}
		return nil
	})
}

// addHosted adds the flags of a command that only the hosted API serves.
func (t *target) addHosted(c *cobra.Command) {
	c.Flags().Var(named{&t.org}, "org", "the org (default: that of the last 'authz login')")
	c.Flags().StringVar(&t.url, "url", "", "the host, such as https://authz.example (default: as at 'authz login')")
	c.Flags().StringVar(&t.tokenFile, "token-file", "", "the file that holds the key (default: $AUTHZ_TOKEN_FILE, else that of 'authz login')")
	_ = c.RegisterFlagCompletionFunc("org", orgsLoggedInTo)
	_ = c.MarkFlagFilename("token-file")
	t.addCAFile(c)
	t.addConfig(c, "the configuration of the host: the command asks its service.public_url")
}

func orgsLoggedInTo(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	saved, _ := readLogins() // nothing to offer then
	var orgs []string
	for _, l := range saved.Logins {
		orgs = append(orgs, described(l.Org, l.URL))
	}
	slices.Sort(orgs)
	return slices.Compact(orgs), cobra.ShellCompDirectiveNoFileComp
}

// hosted finds the org and the key: those that are named, else the last login's.
func (t *target) hosted(warn io.Writer) (*hostedclient.Client, error) {
	if t.socket != "" {
		return nil, usageError{errors.New("--org asks the hosted API, --socket the host of this machine: give one of them")}
	}
	base, err := t.base()
	if err != nil {
		return nil, err
	}
	file := cmp.Or(t.tokenFile, os.Getenv("AUTHZ_TOKEN_FILE"))
	if base == "" && file != "" && t.org != "" && t.config != "" { // no login needs to be found
		if base, err = t.publicURL(); err != nil {
			return nil, err
		}
	}
	login := savedLogin{URL: base, Org: t.org}
	if file == "" || base == "" || t.org == "" {
		saved, err := readLogins()
		if err != nil {
			return nil, err
		}
		if login, err = saved.find(base, t.org); err != nil {
			if file != "" {
				err = usageError{fmt.Errorf("--url and --org must say where the key of %s goes", file)}
			}
			return nil, err
		}
	}
	if file != "" {
		if login.Token, err = readToken(file); err != nil {
			return nil, err
		}
	}
	if err := checkURL(login.URL); err != nil {
		return nil, usageError{err}
	}
	if login.Token == "" || strings.ContainsFunc(login.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usageError{fmt.Errorf("%s must hold a key and nothing else", cmp.Or(file, "the saved login"))}
	}
	over, err := transport(login.URL, cmp.Or(t.caFile, login.CAFile))
	if err != nil {
		return nil, err
	}
	h := newHosted(login.URL, login.Org, login.Token, over)
	h.App = t.app
	if warn != nil {
		h.Warn = func(text string) { fmt.Fprintln(warn, "warning: "+plain(text)) }
	}
	return h, nil
}

func newHosted(url, org, token string, over http.RoundTripper) *hostedclient.Client {
	return &hostedclient.Client{URL: url, Org: org, Token: token, UserAgent: "authz-cli/" + version, Transport: over}
}

// openHosted is open for --org.
func (a *admin) openHosted() (*application, error) {
	if a.actor != "" {
		return nil, usageError{errors.New("over the hosted API the audit log names the user of the key: leave out --actor")}
	}
	h, err := a.hosted(a.command.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	return &application{asked: h, hosted: h, where: h.Org}, nil
}

// service opens the hosted API for a command that only it serves.
func (a *admin) service(c *cobra.Command) (*hostedclient.Client, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	return a.hosted(c.ErrOrStderr())
}

// served is what such a command runs that begins by opening it.
func (a *admin) served(run func(*cobra.Command, *hostedclient.Client, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		h, err := a.service(c)
		if err != nil {
			return err
		}
		return run(c, h, args)
	}
}

// hostedOnly adds the flags of such a command.
func (a *admin) hostedOnly(c *cobra.Command) {
	a.command, a.only = c, true
	a.addHosted(c)
	a.outputFlag.add(c)
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// offers completes from a list of the hosted API.
func offers[T any](a *admin, path, member string, of func(T) string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) (ids []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmp.Or(c.Context(), context.Background()), completionTimeout)
		defer cancel()
		h, err := a.hosted(nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_ = hostedclient.Rows(ctx, h, []string{path}, member, nil, pageSize, func(r T) error { // what came before an error is offered
			if id := of(r); strings.HasPrefix(id, typed) {
				ids = append(ids, id)
			}
			return nil
		})
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// first completes the first argument only.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, args, typed)
	}
}

// all prints a list of the hosted API, or its first rows.
func all[T any](c *cobra.Command, h *hostedclient.Client, path []string, query fields, limit int, to *listing, cells func(T) []string) error {
	if limit < 0 {
		return usageError{errors.New("--limit must not be negative")}
	}
	err := hostedclient.Rows(c.Context(), h, path, to.member, query, limit, func(r T) error { return to.row(r, cells(r)...) })
	if err != nil {
		return err
	}
	return to.end()
}

// given are the flags that were given, by their names on the wire.
func given(c *cobra.Command, names map[string]string) fields {
	return filtered(c, names)["filter"].(fields)
}
