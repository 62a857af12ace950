package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/rows"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/provider"
)

// supposing is what a question supposes, as the flags say it.
type supposing struct{ with, without []string }

func (s *supposing) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&s.with, "with", nil, "answer as if this row were there too: "+rows.GrantForm+", "+rows.RevokeForm+", or 'groups [GROUP...]' for the asked user in these groups instead; repeat it for more")
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
		return errors.New("it names no row")
	}
	if err := rows.Kind(row[0], rowKinds); err != nil {
		return err
	}
	switch kind, rest := row[0], row[1:]; kind {
	case "grant":
		in, err := rows.Grant(rest, time.Now())
		to.Grants = append(to.Grants, in)
		return err
	case "revoke":
		in, err := rows.Revoke(rest)
		to.Revokes = append(to.Revokes, in)
		return err
	}
	if user == "" {
		return errors.New("a service is in no groups")
	}
	to.Members = append(to.Members, provider.SupposedMembers{UserID: user, GroupIDs: row[1:]})
	return nil
}
