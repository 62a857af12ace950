package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

func newRequest() *cobra.Command {
	c := &cobra.Command{Use: "request", Short: "Ask for access, and decide what others ask for", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newRequestSubmit(), newRequestList(), newRequestQueue(), newRequestShow(),
		newRequestDecide("approve", "approved", "Approve the current stage of a request"),
		newRequestDecide("deny", "denied", "Deny a request for good"), newRequestCancel())
	return c
}

// as is the user in whose name a request is written: the operations take no other.
// The hosted API takes the one whose key it is.
func as(c *cobra.Command, a *admin, user *string) {
	a.reads(c)
	a.addOrg(c)
	c.Flags().StringVar(user, "as", "", "the id of the user who does it (required without --org)")
	a.completes(c, "as", userIDs)
	after(c, func() error {
		switch {
		case a.org != "" && *user != "":
			return usageError{errors.New("with --org the user of the key does it: leave out --as")}
		case a.org == "" && *user == "":
			return usageError{fmt.Errorf("--as is required\nRun '%s --help' for what it takes", c.CommandPath())}
		}
		return nil
	})
}

// requestResult is a request, over the hosted API with the application whose it is.
type requestResult struct {
	Application *string       `json:"application,omitempty"`
	Request     authz.Request `json:"request"`
}

func writeRequest(c *cobra.Command, a *admin, op string, p fields) error {
	app, err := a.open(c.Context())
	if err != nil {
		return err
	}
	screens, err := a.linkScreens(c.Context()) // what it refuses, it refuses before the write
	if err != nil {
		return err
	}
	var result requestResult
	for _, by := range []fields{p, fieldsOf(p["input"]), fieldsOf(p["decision"])} {
		for _, name := range []string{"requesterUserId", "deciderUserId", "byUserId"} {
			if id, ok := by[name].(string); ok && app.hosted == nil {
				if err := a.asksAboutUsers(c, app, id); err != nil {
					return err
				}
			}
		}
	}
	if err := app.call(c.Context(), op, p, &result); err != nil {
		if id, ok := p["requestId"].(string); ok {
			return absent(c.Context(), app, err, "request", id, pendingRequestIDs)
		}
		if role, ok := fieldsOf(p["input"])["roleId"].(string); ok {
			return absent(c.Context(), app, err, "role", role, roleIDs)
		}
		return err
	}
	return a.printedRequest(c, app, screens, result)
}

// printedRequest prints a request, or with --link where the dashboard shows it.
func (a *admin) printedRequest(c *cobra.Command, app *application, screens []string, r requestResult) error {
	if !a.link {
		return a.printed(c, r, func(w io.Writer) { printRequest(w, r) })
	}
	from := ""
	switch {
	case r.Application != nil:
		from = *r.Application
	case app.hosted == nil && r.Request.Scope != authz.Global:
		from = app.where
	}
	return a.printLinks(&a.outputFlag, c.OutOrStdout(), screens, requestPath(r.Request.ID, from))
}

func fieldsOf(v any) fields {
	f, _ := v.(fields)
	return f
}

func newRequestSubmit() *cobra.Command {
	a := &admin{}
	var user, role, pattern, expires string
	var answers []string
	c := &cobra.Command{
		Use:   "submit [--as USER] (--role ID | --pattern PATTERN) [SCOPE]",
		Short: "Ask for a role or a pattern",
		Long: `Ask for a role or a pattern for yourself at SCOPE; without one, everywhere. Questions of the
role or the resource are answered with --answer ID=TEXT. Stages that decide by themselves
run at once: the answer may be approved or denied already.`,
		Example: `  authz request submit --as u_17 --role r_editor docs.folder:f_1 --expires 8h --answer why='release day'`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := exactlyOne("--role and --pattern", role != "", pattern != ""); err != nil {
				return err
			}
			until, err := expiry(expires)
			if err != nil {
				return err
			}
			said := map[string]string{}
			for _, answer := range answers {
				id, text, ok := strings.Cut(answer, "=")
				if !ok || id == "" {
					return usageError{fmt.Errorf("--answer %q must be ID=TEXT", answer)}
				}
				said[id] = text
			}
			in := fields{"requesterUserId": user, "justification": said}
			for name, v := range map[string]string{"roleId": role, "pattern": pattern} {
				if v != "" {
					in[name] = v
				}
			}
			if len(args) > 0 {
				in["scope"] = args[0]
			}
			if !until.IsZero() {
				in["proposedExpiresAt"] = until
			}
			return writeRequest(c, a, "submitRequest", fields{"input": in})
		},
	}
	as(c, a, &user)
	a.addLink(c, &a.target, "the request")
	c.Flags().StringVar(&role, "role", "", "the id of the role to ask for")
	c.Flags().StringVar(&pattern, "pattern", "", "the permission or pattern to ask for")
	c.Flags().StringVar(&expires, "expires", "", "until when: "+instantHelp)
	c.Flags().StringArrayVar(&answers, "answer", nil, "the answer to a question, as ID=TEXT; repeat it for more")
	a.completes(c, "role", roleIDs)
	a.completes(c, "pattern", patterns)
	c.ValidArgsFunction = a.argument(scopes)
	return c
}

func newRequestList() *cobra.Command {
	a := &admin{}
	var state, user string
	var limit int
	states := []string{string(authz.RequestPending), string(authz.RequestApproved), string(authz.RequestDenied), string(authz.RequestCancelled)}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List requests",
		Example: `  authz request list --state pending`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("state") && !slices.Contains(states, state) {
				return usageError{fmt.Errorf("--state must be one of %s, not %q", strings.Join(states, ", "), state)}
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			if app.hosted != nil {
				return list(c.Context(), app, "listRequests", filtered(c, map[string]string{"state": "state", "user": "requesterUserId"}), limit, a.entries(c), entryCells)
			}
			if user != "" {
				if err := a.asksAboutUsers(c, app, user); err != nil {
					return err
				}
			}
			l := a.requests(c)
			return list(c.Context(), app, "listRequests", filtered(c, map[string]string{"state": "state", "user": "requesterUserId"}), limit, l, requestCells)
		},
	}
	a.reads(c)
	a.addOrg(c)
	c.Flags().StringVar(&state, "state", "", "only those that are "+strings.Join(states, ", "))
	c.Flags().StringVar(&user, "user", "", "only those of this user")
	c.Flags().IntVar(&limit, "limit", 0, "at most this many (default: all)")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
	a.completes(c, "user", userIDs)
	return c
}

func (a *admin) requests(c *cobra.Command) *listing {
	return a.listing(c.OutOrStdout(), "requests", "ID", "USER", "ASKS FOR", "SCOPE", "UNTIL", "STATE", "NOW AT", "SINCE")
}

// entries are requests with the application whose they are, as the hosted API
// lists them.
func (a *admin) entries(c *cobra.Command) *listing {
	return a.listing(c.OutOrStdout(), "entries", "APPLICATION", "ID", "USER", "ASKS FOR", "SCOPE", "UNTIL", "STATE", "NOW AT", "SINCE")
}

// requestEntry is a row of theirs; no application is the org root.
type requestEntry struct {
	Application *string       `json:"application"`
	Request     authz.Request `json:"request"`
}

func entryCells(e requestEntry) []string {
	home := "-"
	if e.Application != nil {
		home = *e.Application
	}
	return append([]string{home}, requestCells(e.Request)...)
}

func requestCells(r authz.Request) []string {
	return []string{r.ID, r.RequesterUserID, requestAsks(r), r.Scope, expiryText(r.ProposedExpiresAt), string(r.State), requestAt(r), words.Instant(r.CreatedAt)}
}

func requestAsks(r authz.Request) string { return words.Gives(r.RoleID, r.Pattern) }

// requestAt is the stage that a pending request waits at.
func requestAt(r authz.Request) string {
	if r.State != authz.RequestPending || r.StageIndex < 0 || r.StageIndex >= int64(len(r.Stages)) {
		return "-"
	}
	return stageText(r.Stages[r.StageIndex])
}

func printRequest(w io.Writer, shown requestResult) {
	r := shown.Request
	rows := [][]string{
		{"request", r.ID}, {"user", r.RequesterUserID}, {"asks for", requestAsks(r)}, {"at", r.Scope},
		{"until", expiryText(r.ProposedExpiresAt)}, {"state", string(r.State)}, {"waits for", requestAt(r)},
	}
	if shown.Application != nil {
		rows = append(rows, []string{"application", *shown.Application})
	}
	for _, id := range slices.Sorted(maps.Keys(r.Justification)) {
		rows = append(rows, []string{"answer " + id, r.Justification[id]})
	}
	for _, d := range r.Decisions {
		rows = append(rows, []string{d.Decision, strings.TrimSpace(fmt.Sprintf("by %s at %s, stage %d  %s", d.DecidedBy, words.Instant(d.At), d.StageIndex+1, d.Note))})
	}
	table(w, rows)
}

func newRequestQueue() *cobra.Command {
	a := &admin{}
	var user string
	c := &cobra.Command{
		Use:     "queue [--as USER]",
		Short:   "List what a user may decide now",
		Example: `  authz request queue --as u_3`,
		Args:    cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			if app.hosted != nil {
				return streamed(c.Context(), app, "listApproverQueue", nil, a.entries(c), func(e requestEntry) [][]string { return [][]string{entryCells(e)} })
			}
			if err := a.asksAboutUsers(c, app, user); err != nil {
				return err
			}
			return streamed(c.Context(), app, "listApproverQueue", fields{"approverUserId": user}, a.requests(c),
				func(r authz.Request) [][]string { return [][]string{requestCells(r)} })
		}),
	}
	as(c, a, &user)
	return c
}

func newRequestShow() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one request with its answers and decisions",
		Example: `  authz request show 7a1c4d50-3b55-4a8e-bb0f-0d7b51a64c11`,
		Args:    cobra.ExactArgs(1),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			if app.hosted != nil {
				return writeRequest(c, a, "getRequest", fields{"requestId": args[0]})
			}
			r, err := find(c.Context(), app, "listRequests", "requests", nil, func(r authz.Request) bool { return r.ID == args[0] })
			if err != nil {
				return err
			}
			if r == nil {
				return noSuch(c.Context(), app, "request", args[0], pendingRequestIDs)
			}
			screens, err := a.linkScreens(c.Context())
			if err != nil {
				return err
			}
			return a.printedRequest(c, app, screens, requestResult{Request: *r})
		}),
	}
	a.reads(c)
	a.addOrg(c)
	a.addLink(c, &a.target, "the request")
	c.ValidArgsFunction = a.argument(pendingRequestIDs)
	return c
}

func newRequestDecide(verb, decision, short string) *cobra.Command {
	a := &admin{}
	var user, note string
	c := &cobra.Command{
		Use:   verb + " ID [--as USER]",
		Short: short,
		Long: short + `, as a user who may: somebody whom its stage names, or an administrator with
authz_internal.requests.decide_request. Nobody decides their own. With --org it is done as
the user of the key, and --app repeats the application that the request is listed with.`,
		Example: "  authz request " + verb + " 7a1c4d50-3b55-4a8e-bb0f-0d7b51a64c11 --as u_3 --note 'as agreed'",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d := fields{"deciderUserId": user, "decision": decision}
			if note != "" {
				d["note"] = note
			}
			return writeRequest(c, a, "decideRequest", fields{"requestId": args[0], "decision": d})
		},
	}
	as(c, a, &user)
	a.addLink(c, &a.target, "the request")
	c.Flags().StringVar(&note, "note", "", "what to record beside the decision")
	c.ValidArgsFunction = a.argument(pendingRequestIDs)
	return c
}

func newRequestCancel() *cobra.Command {
	a := &admin{}
	var user string
	c := &cobra.Command{
		Use:     "cancel ID [--as USER]",
		Short:   "Withdraw a request of one's own",
		Example: `  authz request cancel 7a1c4d50-3b55-4a8e-bb0f-0d7b51a64c11 --as u_17`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return writeRequest(c, a, "cancelRequest", fields{"requestId": args[0], "byUserId": user})
		},
	}
	as(c, a, &user)
	a.addLink(c, &a.target, "the request")
	c.ValidArgsFunction = a.argument(pendingRequestIDs)
	return c
}
