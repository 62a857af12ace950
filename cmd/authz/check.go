package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// errDenied is the answer no, for --exit-code.
var errDenied = errors.New("denied")

// question is what check and explain ask.
type question struct {
	target
	outputFlag
	user, service string
}

func (q *question) add(c *cobra.Command) {
	q.outputFlag.add(c)
	q.addSocket(c)
	q.addApp(c)
	c.Flags().StringVar(&q.user, "user", "", "the id of the user who asks")
	c.Flags().StringVar(&q.service, "service", "", "the id of the service that asks")
	_ = c.RegisterFlagCompletionFunc("app", q.complete(applicationNames))
	_ = c.RegisterFlagCompletionFunc("user", q.complete(userIDs))
	key, scope := q.complete(keys), q.complete(scopes)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return key(c, args, typed)
		case 1:
			return scope(c, args, typed)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// complete offers what the host that is asked says, as for an administrator.
func (q *question) complete(source candidates) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return (&admin{target: q.target, outputFlag: q.outputFlag}).complete(source)(c, args, typed)
	}
}

func (q *question) principal() (authz.Principal, error) {
	p := authz.Principal{UserID: q.user, ServiceID: q.service}
	if p.Validate() != nil {
		return p, usageError{errors.New("name who asks: either --user ID or --service ID")}
	}
	return p, q.outputFlag.check()
}

type checkParams struct {
	Principal authz.Principal `json:"principal"`
	Key       string          `json:"key"`
	Scope     string          `json:"scope,omitempty"`
	Fresh     bool            `json:"fresh,omitempty"`
}

func params(p authz.Principal, args []string) checkParams {
	c := checkParams{Principal: p, Key: args[0]}
	if len(args) > 1 {
		c.Scope = args[1]
	}
	return c
}

func newCheck() *cobra.Command {
	q := &question{}
	var fresh, exit, strict bool
	c := &cobra.Command{
		Use:   "check (--user ID | --service ID) KEY [SCOPE]",
		Short: "Ask a running host one question",
		Long: `Ask a running host whether the user or service may use the permission KEY at SCOPE.
Without SCOPE it is the global question, which only global grants answer.`,
		Example: `  authz check --user u_17 docs.files.update_file docs.doc:d_1
  authz check --service svc_importer docs.files.create_file docs.folder:f_1 --exit-code && run-the-import
  authz check --url https://authz.example/apps/docs --token-file token --user u_1 docs.files.read`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := q.principal()
			if err != nil {
				return err
			}
			ask := params(p, args)
			ask.Fresh = fresh
			ctx, cancel := context.WithTimeout(c.Context(), callTimeout)
			defer cancel()
			var answer struct {
				Allowed bool `json:"allowed"`
			}
			if q.url != "" {
				remote, err := q.remote()
				if err != nil {
					return err
				}
				if err := typed(ctx, remote, ask.Scope); err != nil {
					return err
				}
				err = guarded{remote, false}.Call(ctx, "check", ask, &answer)
				if err != nil {
					return atScope{err, ask.Scope}
				}
			} else if err := q.askLocal(ctx, "check", ask, &answer); err != nil {
				return atScope{err, ask.Scope}
			}
			if !answer.Allowed && q.url == "" {
				if err := q.doubt(ctx, strict, c.ErrOrStderr()); err != nil {
					return err
				}
				q.tellExpired(ctx, ask, c.ErrOrStderr())
			}
			err = q.print(c.OutOrStdout(), answer, func(w io.Writer) {
				word := "DENIED"
				if answer.Allowed {
					word = "ALLOWED"
				}
				fmt.Fprintln(w, word)
			})
			if err == nil && exit && !answer.Allowed {
				return errDenied
			}
			return err
		},
	}
	q.add(c)
	q.addURL(c)
	c.Flags().BoolVar(&fresh, "fresh", false, "bypass the host's caches")
	c.Flags().BoolVar(&strict, "strict", false, "refuse to answer for a user of whom nothing is stored, instead of a warning; over the socket")
	c.Flags().BoolVar(&exit, "exit-code", false, fmt.Sprintf("exit with %d when the answer is no", exitDenied))
	return c
}

// doubt says that a denial may be that of a misspelt user.
func (q *question) doubt(ctx context.Context, strict bool, to io.Writer) error {
	if q.user == "" {
		return nil
	}
	app, err := q.localApplication(ctx)
	if err != nil {
		return err
	}
	d := newDoubts(app, strict, to)
	if err := d.subject(ctx, authz.SubjectOf(authz.SubjectUser, q.user)); err != nil {
		return err
	}
	return d.err()
}

// tellExpired names the grants that would have allowed. The answer stands without it.
func (q *question) tellExpired(ctx context.Context, ask checkParams, to io.Writer) {
	var e access.Explanation
	if q.askLocal(ctx, "explain", fields{"principal": ask.Principal, "key": ask.Key, "scope": cmp.Or(ask.Scope, authz.Global)}, &e) != nil {
		return
	}
	for _, g := range e.Expired {
		at, _ := g.ExpiresAt.At()
		fmt.Fprintf(to, "note: grant %s to %s would allow this; it expired at %s. 'authz grant create' makes another.\n", plain(g.ID), plain(g.Subject), words.Instant(at))
	}
}

func (q *question) askLocal(ctx context.Context, op string, ask, answer any) error {
	app, err := q.localApplication(ctx)
	if err != nil {
		return err
	}
	return app.Call(ctx, op, ask, answer)
}

// explainHosted asks the org root, or whoever owns the scope.
func (q *question) explainHosted(ctx context.Context, warn io.Writer, ask checkParams, e *access.Explanation) error {
	if q.app != "" {
		return usageError{errors.New("with --org the scope says whose it is: leave --app out")}
	}
	h, err := q.hosted(warn)
	if err != nil {
		return err
	}
	query := hostedclient.PrincipalQuery(ask.Principal)
	query["key"], query["scope"] = ask.Key, cmp.Or(ask.Scope, authz.Global)
	return h.Ask(ctx, http.MethodGet, []string{"org", "explain"}, query, nil, e)
}

func newExplain() *cobra.Command {
	q := &question{}
	c := &cobra.Command{
		Use:   "explain (--user ID | --service ID) KEY [SCOPE]",
		Short: "Show which rows decide a question",
		Long: `Show the working of a check: the answer, the grants and revokes that decided it, and the
chain of scopes that was used. The administration socket serves it, and with --org the
hosted API does.`,
		Example: `  authz explain --user u_17 docs.files.update_file docs.doc:d_1
  authz explain --org acme --user u_17 authz_internal.access.manage_grants`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := q.principal()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), callTimeout)
			defer cancel()
			ask := params(p, args)
			var e access.Explanation
			if q.org != "" {
				err = q.explainHosted(ctx, c.ErrOrStderr(), ask, &e)
			} else {
				err = q.askLocal(ctx, "explain", ask, &e)
			}
			if err != nil {
				return atScope{err, ask.Scope}
			}
			if !e.Allowed && q.org == "" {
				if err := q.doubt(ctx, false, c.ErrOrStderr()); err != nil {
					return err
				}
			}
			return q.print(c.OutOrStdout(), e, func(w io.Writer) { fmt.Fprint(w, e.Text(p, ask.Key, ask.Scope)) })
		},
	}
	q.add(c)
	q.addOrg(c)
	return c
}
