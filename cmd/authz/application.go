package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/user"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// fields are the named parameters of an operation.
type fields = map[string]any

// admin is what the commands on one application share: where it is, how to print,
// and who acts.
type admin struct {
	target
	outputFlag
	linkFlag
	actor  string
	yes    bool
	strict bool // about what nothing stored has

	command *cobra.Command
	only    bool // the hosted API serves it alone
}

// reads adds the flags of a command that asks over the socket or over --url.
func (a *admin) reads(c *cobra.Command) {
	a.command = c
	a.addSocket(c)
	a.addApp(c)
	a.addURL(c)
	a.outputFlag.add(c)
	_ = c.RegisterFlagCompletionFunc("app", a.complete(applicationNames))
}

// writes adds the flags of a command that changes something.
func (a *admin) writes(c *cobra.Command) {
	a.reads(c)
	c.Flags().StringVar(&a.actor, "actor", "", "the user id that the audit log names (default: your login, as local:NAME over the socket, cli:NAME over --url)")
}

// asks adds --yes to a command that confirm guards.
func (a *admin) asks(c *cobra.Command) {
	c.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask first")
}

// localOnly adds the flags of a command whose operation does not cross the
// network. The flags of the other way are there to say so.
func (a *admin) localOnly(c *cobra.Command) {
	a.reads(c)
	for _, name := range []string{"url", "token-file", "ca-file"} {
		_ = c.Flags().MarkHidden(name)
	}
	c.Long += "\n\nOnly the administration socket serves it: run it on the host's machine."
	after(c, func() error {
		if a.url != "" || a.tokenFile != "" || a.caFile != "" {
			return usageError{fmt.Errorf("'%s' does not cross the network: the administration socket alone serves it, so run it on the host's machine without --url", c.CommandPath())}
		}
		return nil
	})
}

// sure returns unless the question is answered with yes.
func (a *admin) sure(c *cobra.Command, question string) error {
	if a.yes || confirm(c.Context(), bufio.NewReader(c.InOrStdin()), c.ErrOrStderr(), question) {
		return nil
	}
	return usageError{errDeclined}
}

// asked takes the operations of the provider API.
type asked = pages.Caller

// within bounds each call in time.
type within struct {
	asked
	time.Duration
}

func (w within) Call(ctx context.Context, op string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, w.Duration)
	defer cancel()
	return w.asked.Call(ctx, op, params, result)
}

// application is one application of a running host, or an org at the hosted API.
type application struct {
	asked
	provider *provider.Caller     // nil at the hosted API
	hosted   *hostedclient.Client // nil elsewhere
	local    *adminsocket.Client  // nil over the network
	where    string
	remote   bool
	actor    string
}

// opened is what a command runs that begins by finding the application.
func (a *admin) opened(run func(*cobra.Command, *application, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		app, err := a.open(c.Context())
		if err != nil {
			return err
		}
		return run(c, app, args)
	}
}

// open finds the application and refuses flags that make no sense before anything
// is asked.
func (a *admin) open(ctx context.Context) (*application, error) {
	if err := a.outputFlag.check(); err != nil {
		return nil, err
	}
	if a.org != "" || a.only {
		return a.openHosted()
	}
	if a.url != "" {
		remote, err := a.remote()
		if err != nil {
			return nil, err
		}
		return &application{asked: guarded{remote, false}, provider: remote, where: remote.Base, remote: true, actor: a.actor}, nil
	}
	app, err := a.localApplication(ctx)
	if err != nil {
		return nil, err
	}
	app.actor = a.actor
	return app, nil
}

// longTimeout bounds operations that read every row or the whole log.
const longTimeout = 11 * time.Minute

func (a *application) call(ctx context.Context, op string, params, result any) error {
	return within{a, callTimeout}.Call(ctx, op, params, result)
}

// long is call for what may take minutes.
func (a *application) long(ctx context.Context, op string, params, result any) error {
	return within{a, longTimeout}.Call(ctx, op, params, result)
}

// by adds who acts to the parameters of a write, unless the socket knows it
// itself (spec: host §3).
func (a *application) by(p fields) fields {
	switch {
	case a.actor != "":
		p["provenance"] = authz.AdminProvenance(a.actor)
	case a.remote:
		p["provenance"] = authz.AdminProvenance("cli:" + login())
	}
	return p
}

func login() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

// pageSize is how many rows one call of a list asks for.
const pageSize = pages.Size

// each reads the list op page by page. A limit of 0 is none.
func each[T any](ctx context.Context, a *application, op, field string, p fields, limit int, row func(T) error) error {
	return pages.Each(ctx, within{a, callTimeout}, op, field, p, limit, row)
}

// errStop ends a list early.
var errStop = errors.New("stop")

// find returns the first row that is wanted.
func find[T any](ctx context.Context, a *application, op, field string, p fields, wanted func(T) bool) (found *T, err error) {
	err = each(ctx, a, op, field, p, 0, func(r T) error {
		if wanted(r) {
			found = &r
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return found, err
}

// hint says what to do about an error, "" when its text says it.
func hint(err error) string {
	var (
		hosted    *hostedclient.Error
		outage    *authz.UnavailableError
		transport *provider.TransportError
		advised   interface{ hint() string }
	)
	switch {
	case errors.As(err, &advised) && advised.hint() != "":
		return advised.hint()
	case untrusted(err):
		return "No authority that is trusted here issued the host's certificate: name the file of the right authority with --ca-file."
	case errors.As(err, &hosted):
		return hostedHint(hosted)
	case errors.As(err, &outage) && outage.Outcome == authz.OutcomeUnknown:
		return "It is not known whether it was applied: look before you repeat it. 'authz storage status' and 'authz plugin list' show why."
	case errors.As(err, &outage):
		return "Run 'authz storage status' and 'authz plugin list' to see why."
	case errors.As(err, &transport) && (transport.Status == http.StatusUnauthorized || transport.Code == provider.RateLimited):
		return "The token file must hold one of the application's provider secrets (applications.<name>.provider in the configuration)."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Nothing listens there. Is the host running, and is it the right address? 'authz serve' starts one."
	case errors.As(err, &transport) && transport.Status == http.StatusNotFound:
		return "--url is where the provider API of an application is: https://HOST, or https://HOST/apps/APP where there are several."
	case errors.As(err, &transport) && transport.Status == 0:
		return "No answer arrived. If the command changes something, look whether it did before you repeat it."
	case authz.CodeOf(err) == authz.CodeNotOrgRoot:
		return "Groups, roles, people and global rows are written at the org root: run the command against that application."
	}
	return ""
}

// printed prints one result, the wire's member as JSON.
func (a *admin) printed(c *cobra.Command, value any, text func(io.Writer)) error {
	return a.print(c.OutOrStdout(), value, text)
}
