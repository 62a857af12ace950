package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
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
	Reason    bool            `json:"reason,omitempty"`
	Context   json.RawMessage `json:"context,omitempty"`
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
	var fresh, exit, strict, reason bool
	var sent string
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
			ask.Fresh, ask.Reason = fresh, reason
			if sent != "" {
				if ask.Context = json.RawMessage(sent); !json.Valid(ask.Context) {
					return usageError{fmt.Errorf("--context %s is not JSON", spell.Quote(sent))}
				}
			}
			ctx, cancel := context.WithTimeout(c.Context(), callTimeout)
			defer cancel()
			var answer struct {
				Allowed bool            `json:"allowed"`
				Reason  provider.Reason `json:"reason,omitempty"`
			}
			if err := q.ask(ctx, "check", ask.Scope, ask, &answer); err != nil {
				return err
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
				if answer.Reason != "" {
					word += "  " + string(answer.Reason)
				}
				printAnswer(w, word+"\n")
			})
			if err == nil && !answer.Allowed && q.format == "text" {
				q.tellWhy(ctx, c.ErrOrStderr(), p, ask.Key, ask.Scope)
			}
			if err == nil && exit && !answer.Allowed {
				return errDenied
			}
			return err
		},
	}
	q.add(c)
	q.addURL(c)
	c.Flags().StringVar(&sent, "context", "", "what the condition of the key judges by, as JSON: '{\"amount\": 5}'")
	c.Flags().BoolVar(&reason, "reason", false, "tell in a word why; 'authz explain' shows the rows")
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

// ask asks an operation about a scope, over the network where the flags say so.
func (q *question) ask(ctx context.Context, op, scope string, ask, answer any) error {
	if q.url == "" {
		if err := q.askLocal(ctx, op, ask, answer); err != nil {
			return atScope{err, scope}
		}
		return nil
	}
	remote, err := q.remote()
	if err != nil {
		return err
	}
	if err := typed(ctx, remote, scope); err != nil {
		return err
	}
	if err := (guarded{remote, false}).Call(ctx, op, ask, answer); err != nil {
		return atScope{err, scope}
	}
	return nil
}

func (q *question) askLocal(ctx context.Context, op string, ask, answer any) error {
	app, err := q.localApplication(ctx)
	if err != nil {
		return err
	}
	return app.Call(ctx, op, ask, answer)
}
