package main

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/internal/hostedclient"
)

func newSeat() *cobra.Command {
	c := &cobra.Command{Use: "seat", Short: "Who may sign in to the org, and as what", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newSeatList(), newSeatInvite(), newSeatUpdate(), newSeatRemove(), newSeatSignOut())
	return c
}

var (
	seatKinds  = []string{"owner", "admin", "portal"}
	seatStates = []string{"invited", "active", "removed"}
)

type seatResult struct {
	Seat account.Seat `json:"seat"`
}

func seatCells(s account.Seat) []string {
	return []string{s.UserID, s.Kind, s.State, textOr(s.Email), textOr(s.DisplayName), s.InvitedBy, instantOr(s.LastSeenAt, "never")}
}

// seatUsers completes the users who have a seat.
func (a *admin) seatUsers() cobra.CompletionFunc {
	return offers(a, "seats", "seats", func(s account.Seat) string { return described(s.UserID, s.Kind) })
}

func newSeatList() *cobra.Command {
	a := &admin{}
	var limit int
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the seats",
		Example: `  authz seat list --kind owner --state active`,
		Args:    cobra.NoArgs,
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, _ []string) error {
			l := a.listing(c.OutOrStdout(), "seats", "USER", "KIND", "STATE", "EMAIL", "NAME", "INVITED BY", "LAST SEEN")
			return all(c, h, []string{"seats"}, given(c, map[string]string{"kind": "kind", "state": "state"}), limit, l, seatCells)
		}),
	}
	a.hostedOnly(c)
	choice(c, "kind", "only seats of this kind", seatKinds)
	choice(c, "state", "only seats in this state", seatStates)
	c.Flags().IntVar(&limit, "limit", 0, "at most this many (default: all)")
	return c
}

// choice adds a flag that takes one of some words; the far side refuses others.
func choice(c *cobra.Command, name, usage string, words []string) {
	c.Flags().String(name, "", fmt.Sprintf("%s: %s", usage, oneOf(words)))
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func oneOf(words []string) string {
	text := words[0]
	for i, word := range words[1:] {
		if i == len(words)-2 {
			text += " or " + word
		} else {
			text += ", " + word
		}
	}
	return text
}

// seatFlags are what a seat is made of.
func seatFlags(c *cobra.Command) {
	choice(c, "kind", "what it is", seatKinds)
	c.Flags().String("email", "", "where to reach the user")
	c.Flags().String("name", "", "what people call the user")
}

func seatInput(c *cobra.Command) fields {
	return given(c, map[string]string{"kind": "kind", "email": "email", "name": "displayName"})
}

func (a *admin) writeSeat(c *cobra.Command, method string, path []string, in fields) error {
	h, err := a.service(c)
	if err != nil {
		return err
	}
	var result seatResult
	if err := h.Ask(c.Context(), method, path, nil, in, &result); err != nil {
		return err
	}
	return a.printed(c, result, func(w io.Writer) {
		fmt.Fprintf(w, "%s has a seat of kind %s, %s\n", plain(result.Seat.UserID), result.Seat.Kind, result.Seat.State)
	})
}

func newSeatInvite() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "invite USER",
		Short: "Give a user a seat, which their first sign-in activates",
		Long: `Give a user a seat. An owner may do everything, an admin everything but what concerns owners,
a portal seat (the default) sees what it is granted and asks for more. USER is the id that
the sign-in tells, such as the subject at the OpenID provider.`,
		Example: `  authz seat invite u_17 --kind admin --email ada@example.com`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in := seatInput(c)
			in["userId"] = args[0]
			return a.writeSeat(c, http.MethodPost, []string{"seats"}, in)
		},
	}
	a.hostedOnly(c)
	seatFlags(c)
	return c
}

func newSeatUpdate() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "update USER",
		Short:   "Change what a seat is",
		Example: `  authz seat update u_17 --kind owner`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in := seatInput(c)
			if len(in) == 0 {
				return usageError{fmt.Errorf("say what to change: --kind, --email or --name")}
			}
			return a.writeSeat(c, http.MethodPatch, []string{"seats", args[0]}, in)
		},
	}
	c.ValidArgsFunction = first(a.seatUsers())
	a.hostedOnly(c)
	seatFlags(c)
	return c
}

func newSeatRemove() *cobra.Command {
	return newHostedEnd("remove USER", "Take a user's seat, sessions, admin keys and account grants",
		`Take a user's seat: their sessions end, their admin keys are revoked, what they were granted of
cloud.* is deleted. Their access in applications stays: 'authz user deactivate' takes that.`,
		`  authz seat remove u_17 --yes`, (*admin).seatUsers,
		func(id string) hostedEnd {
			return hostedEnd{method: http.MethodDelete, path: []string{"seats", id},
				question: fmt.Sprintf("Remove the seat of %s with its sessions, admin keys and account grants?", id), done: "the seat of " + id + " is removed"}
		})
}

func newSeatSignOut() *cobra.Command {
	return newHostedEnd("sign-out USER", "End every session of a user", `End every session of a user at once. Their admin keys work on: 'authz key revoke'.`,
		`  authz seat sign-out u_17`, (*admin).seatUsers,
		func(id string) hostedEnd {
			return hostedEnd{method: http.MethodDelete, path: []string{"seats", id, "sessions"}, done: "the sessions of " + id + " are ended"}
		})
}

// hostedEnd takes something away.
type hostedEnd struct {
	method   string
	path     []string
	question string // "": nothing is asked
	done     string
}

func newHostedEnd(use, short, long, example string, ids func(*admin) cobra.CompletionFunc, what func(id string) hostedEnd) *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: cobra.ExactArgs(1),
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			e := what(args[0])
			if e.question != "" {
				if err := a.sure(c, plain(e.question)); err != nil {
					return err
				}
			}
			var body any
			if e.method == http.MethodPost {
				body = fields{}
			}
			if err := h.Ask(c.Context(), e.method, e.path, nil, body, nil); err != nil {
				return err
			}
			return a.printed(c, map[string]string{"done": e.done}, func(w io.Writer) { fmt.Fprintln(w, plain(e.done)) })
		}),
	}
	c.ValidArgsFunction = first(ids(a))
	a.hostedOnly(c)
	if what("").question != "" {
		a.asks(c)
	}
	return c
}
