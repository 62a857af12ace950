package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// supposing is what a question supposes, as the flags say it.
type supposing struct{ with, without []string }

func (s *supposing) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.with, "with", nil, "answer as if this row were there too: 'grant SUBJECT role ID [SCOPE]', 'grant SUBJECT PATTERN [SCOPE]', 'revoke USER PATTERN [SCOPE]', or 'groups [GROUP...]' for the asked user in these groups instead; repeat it for more")
	c.Flags().StringArrayVar(&s.without, "without", nil, "answer as if the grant or revoke of this id were gone; repeat it for more")
}

// read makes rows of the flags. The user is the one who is asked about.
func (s *supposing) read(user string) (in provider.Supposing, err error) {
	in.Without = s.without
	for _, text := range s.with {
		if err := supposeRow(&in.With, user, strings.Fields(text)); err != nil {
			return in, usageError{fmt.Errorf("--with %s: %w", spell.Quote(text), err)}
		}
	}
	return in, nil
}

var rowKinds = []string{"grant", "revoke", "groups"}

func supposeRow(to *provider.Supposed, user string, row []string) error {
	if len(row) == 0 {
		return fmt.Errorf("it names no row")
	}
	switch kind, rest := row[0], row[1:]; kind {
	case "grant":
		in := provider.GrantInput{}
		switch {
		case len(rest) >= 3 && len(rest) <= 4 && rest[1] == "role":
			in.Subject, in.RoleID, rest = rest[0], rest[2], rest[3:]
		case len(rest) >= 2 && len(rest) <= 3 && rest[1] != "role":
			in.Subject, in.Pattern, rest = rest[0], rest[1], rest[2:]
		default:
			return fmt.Errorf("a grant is 'grant SUBJECT role ID [SCOPE]' or 'grant SUBJECT PATTERN [SCOPE]'")
		}
		if err := words.CheckSubject(in.Subject); err != nil {
			return err
		}
		if len(rest) == 1 {
			in.Scope = rest[0]
		}
		to.Grants = append(to.Grants, in)
		return words.CheckScope(cmp.Or(in.Scope, authz.Global))
	case "revoke":
		if len(rest) < 2 || len(rest) > 3 {
			return fmt.Errorf("a revoke is 'revoke USER PATTERN [SCOPE]'")
		}
		in := provider.RevokeInput{UserID: rest[0], Pattern: rest[1]}
		if len(rest) == 3 {
			in.Scope = rest[2]
		}
		to.Revokes = append(to.Revokes, in)
		return words.CheckScope(cmp.Or(in.Scope, authz.Global))
	case "groups":
		if user == "" {
			return fmt.Errorf("a service is in no groups")
		}
		to.Members = append(to.Members, provider.SupposedMembers{UserID: user, GroupIDs: rest})
		return nil
	default:
		hint := ""
		if near := spell.Nearest(kind, rowKinds); near != "" {
			hint = "; did you mean " + spell.Quote(near) + "?"
		}
		return fmt.Errorf("a row begins with grant, revoke or groups%s", hint)
	}
}
