package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// lookup is a list of who may, where or what.
type lookup[Row any] struct {
	op    string // of the provider API
	path  string // below org at the hosted API
	asked fields
	cells func(Row) [][]string
}

// print prints the rows page by page, as they come, and returns what the last page says
// beside its rows. A list that ends with an error says that it is not whole.
func (l *lookup[Row]) print(ctx context.Context, app *application, limit int, to *listing) (said map[string]bool, err error) {
	for after := ""; ; {
		members, err := l.page(ctx, app, after)
		if err != nil {
			return nil, to.cut(err)
		}
		rows, err := pages.Member[Row](l.op, members, to.member)
		if err != nil {
			return nil, to.cut(err)
		}
		to.also = map[string]bool{}
		for _, name := range []string{"requiresCondition", "expanded"} {
			if value, told := members[name]; told {
				to.also[name] = string(value) == "true"
			}
		}
		for _, r := range rows {
			if limit > 0 && to.told == limit {
				return to.also, to.end()
			}
			to.told++
			if to.json {
				if err := to.row(r); err != nil {
					return nil, err
				}
				continue
			}
			for _, line := range l.cells(r) {
				if err := to.row(r, line...); err != nil {
					return nil, err
				}
			}
		}
		if after = nextOf(members); after == "" {
			return to.also, to.end()
		}
	}
}

func (l *lookup[Row]) page(ctx context.Context, app *application, after string) (members map[string]json.RawMessage, err error) {
	p := maps.Clone(l.asked)
	if app.hosted == nil {
		if after != "" {
			p["after"] = after
		}
		return members, app.long(ctx, l.op, p, &members)
	}
	if principal, ok := p["principal"].(authz.Principal); ok {
		delete(p, "principal")
		maps.Copy(p, hostedclient.PrincipalQuery(principal))
	}
	p["limit"] = provider.MaxLookupPage
	if after != "" {
		p["cursor"] = after
	}
	ctx, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	return members, app.hosted.Ask(ctx, http.MethodGet, []string{"org", l.path}, p, nil, &members)
}

// nextOf is where the page after goes on, "" for the last one.
func nextOf(members map[string]json.RawMessage) (next string) {
	for _, name := range []string{"next", "nextCursor"} {
		if text := members[name]; text != nil && json.Unmarshal(text, &next) == nil && next != "" {
			return next
		}
	}
	return ""
}

// lookups adds the flags of a lookup.
func (a *admin) lookups(c *cobra.Command, limit *int) {
	a.reads(c)
	a.addOrg(c)
	c.Flags().IntVar(limit, "limit", 0, "at most this many")
	after(c, func() error {
		if *limit < 0 {
			return usageError{errors.New("--limit must not be negative")}
		}
		return nil
	})
}

func newWhoCan() *cobra.Command {
	a := &admin{}
	var limit int
	c := &cobra.Command{
		Use:   "who-can KEY [SCOPE]",
		Short: "List who holds a permission at a scope",
		Long: `List everybody who holds the permission KEY at SCOPE, with the grants that give it and the groups
between; without SCOPE, everybody who holds it everywhere. Whoever holds it through everyone, or
through an org of which nobody is recorded, is listed as that subject. The list also has the people
whom a revoke or a deactivation excepts. The list is whole, or it ends with an error.`,
		Example: `  authz who-can docs.files.update_file docs.doc:d_1
  authz who-can docs.files.delete_file -o json | jq -r '.subjects[].subject'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			scope, err := scopeArg(c.Context(), app, args[1:])
			if err != nil {
				return err
			}
			l := lookup[provider.Holder]{op: "listSubjects", path: "who-can", asked: fields{"key": args[0], "scope": scope}, cells: holderCells}
			said, err := l.print(c.Context(), app, limit, a.listing(c.OutOrStdout(), "subjects", "SUBJECT", "GRANT", "GIVES", "AT", "THROUGH"))
			if err != nil {
				return unrecorded(c.Context(), app, err, scope)
			}
			noteCondition(c, said)
			return nil
		}),
	}
	a.lookups(c, &limit)
	c.ValidArgsFunction = inOrder(a.complete(keys), a.complete(scopes))
	return c
}

func newWhatCan() *cobra.Command {
	a := &admin{}
	var limit int
	var member string
	c := &cobra.Command{
		Use:   "what-can USER [SCOPE]",
		Short: "List the permissions that somebody holds at a scope",
		Long: `List the permissions that a user holds at SCOPE; without SCOPE, those that they hold everywhere.
Write service:ID for a service. With --org the application that owns SCOPE answers, or the one
that --member names.`,
		Example: `  authz what-can u_17 docs.folder:f_1
  authz what-can service:svc_importer`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			p, err := a.somebody(c, app, args[0])
			if err != nil {
				return err
			}
			scope, err := scopeArg(c.Context(), app, args[1:])
			if err != nil {
				return err
			}
			asked := fields{"principal": p, "scope": scope}
			if member != "" {
				if app.hosted == nil {
					return usageError{errors.New("--member goes with --org; without it --app names the application")}
				}
				asked["application"] = member
			}
			l := lookup[provider.HeldKey]{op: "listKeys", path: "what-can", asked: asked, cells: func(k provider.HeldKey) [][]string {
				return [][]string{{k.Key, keyNote(k)}}
			}}
			if _, err := l.print(c.Context(), app, limit, a.listing(c.OutOrStdout(), "keys", "KEY", "NOTE")); err != nil {
				return unrecorded(c.Context(), app, err, scope)
			}
			return nil
		}),
	}
	a.lookups(c, &limit)
	c.Flags().StringVar(&member, "member", "", "with --org: the application that is asked")
	c.ValidArgsFunction = inOrder(a.complete(userIDs), a.complete(scopes))
	return c
}

func newWhereCan() *cobra.Command {
	a := &admin{}
	var limit int
	c := &cobra.Command{
		Use:   "where-can USER KEY",
		Short: "List the scopes at which somebody holds a permission",
		Long: `List the scopes at which a user holds the permission KEY, with the grants that give it. Write
service:ID for a service. Scopes below a granted one are listed where the host keeps the parents
of scopes; elsewhere the list is of granted scopes alone, and a note says so.`,
		Example: `  authz where-can u_17 docs.files.read_file
  authz where-can service:svc_importer docs.files.create_file -o json`,
		Args: cobra.ExactArgs(2),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			p, err := a.somebody(c, app, args[0])
			if err != nil {
				return err
			}
			l := lookup[provider.HeldScope]{op: "listScopes", path: "where-can", asked: fields{"principal": p, "key": args[1]}, cells: func(s provider.HeldScope) [][]string {
				return [][]string{{s.Scope, strings.Join(s.By, ", "), scopeNote(s)}}
			}}
			said, err := l.print(c.Context(), app, limit, a.listing(c.OutOrStdout(), "scopes", "SCOPE", "GRANTS", "NOTE"))
			if err != nil {
				return err
			}
			if !said["expanded"] {
				fmt.Fprintln(c.ErrOrStderr(), "note: these are only the granted scopes: the host does not know what lies below them")
			}
			noteCondition(c, said)
			return nil
		}),
	}
	a.lookups(c, &limit)
	c.ValidArgsFunction = inOrder(a.complete(userIDs), a.complete(keys))
	return c
}

// inOrder completes each argument by its own source.
func inOrder(sources ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) < len(sources) {
			return sources[len(args)](c, args, typed)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// somebody reads who is asked about: the id of a user, or a subject that is one person or
// service.
func (a *admin) somebody(c *cobra.Command, app *application, word string) (authz.Principal, error) {
	p := authz.UserPrincipal(word)
	switch kind, id, ok := authz.ParseSubject(word); {
	case ok && kind == authz.SubjectUser:
		p = authz.UserPrincipal(id)
	case ok && kind == authz.SubjectService:
		p = authz.ServicePrincipal(id)
	case ok:
		return p, usageError{fmt.Errorf("%s is no user and no service: ask about one of them", plain(word))}
	}
	return p, a.asksAbout(c, app, p.Subject())
}

// scopeArg reads the scope of a question, "*" where it is left out.
func scopeArg(ctx context.Context, app *application, args []string) (string, error) {
	if len(args) == 0 {
		return authz.Global, nil
	}
	if err := words.CheckScope(args[0]); err != nil {
		return "", usageError{err}
	}
	return args[0], needsType(ctx, app, args[0])
}

// unrecorded advises to record a scope where that is why a list at it is unsupported: the
// driver may lack the lists as well.
func unrecorded(ctx context.Context, app *application, err error, scope string) error {
	if authz.CodeOf(err) != authz.CodeUnsupported || app.hosted != nil {
		return err
	}
	if authz.CodeOf(app.call(ctx, "resolveAncestors", fields{"scope": scope}, nil)) != authz.CodeUnsupported {
		return err
	}
	return atScope{err, scope}
}

func holderCells(h provider.Holder) (lines [][]string) {
	if h.Except != "" {
		return [][]string{{h.Subject, "-", "not: " + string(h.Except), "-", "-"}}
	}
	for i, by := range h.By {
		subject := h.Subject
		if i > 0 {
			subject = ""
		}
		through := slices.Clone(by.Through)
		if len(through) == 0 && by.Subject != h.Subject {
			through = []string{by.Subject}
		}
		lines = append(lines, []string{subject, by.GrantID, words.Gives(by.RoleID, by.Pattern), by.Scope, strings.Join(through, " → ")})
	}
	return lines
}

func keyNote(k provider.HeldKey) string {
	var notes []string
	if k.Implied {
		notes = append(notes, "implied by grants below")
	}
	if k.RequiresCondition {
		notes = append(notes, "if its condition holds")
	}
	return strings.Join(notes, "; ")
}

func scopeNote(s provider.HeldScope) string {
	switch {
	case len(s.Except) > 0:
		return "but " + strings.Join(s.Except, ", ")
	case s.Implied:
		return "implied by grants below"
	}
	return ""
}

func noteCondition(c *cobra.Command, said map[string]bool) {
	if said["requiresCondition"] {
		fmt.Fprintln(c.ErrOrStderr(), "note: the key is declared requiresCondition: the application's own condition comes on top")
	}
}
