package rows

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Forms of rows, as messages and helps show them.
const (
	GrantForm  = "'grant SUBJECT role ID [SCOPE] [until TIME]' or 'grant SUBJECT PATTERN [SCOPE] [until TIME]'"
	RevokeForm = "'revoke USER PATTERN [SCOPE]'"
)

// Kind refuses a first word that is none of the kinds.
func Kind(word string, kinds []string) error {
	for _, kind := range kinds {
		if word == kind {
			return nil
		}
	}
	hint := ""
	if near := spell.Nearest(word, kinds); near != "" {
		hint = "; did you mean " + spell.Quote(near) + "?"
	}
	last := len(kinds) - 1
	return fmt.Errorf("a row begins with %s or %s%s", strings.Join(kinds[:last], ", "), kinds[last], hint)
}

// Grant reads what stands behind the word grant. Times from now are from the given one.
func Grant(row []string, now time.Time) (in provider.GrantInput, err error) {
	if n := len(row); n >= 4 && row[n-2] == "until" {
		ms, err := words.InstantFrom(row[n-1], now, 1)
		if err != nil {
			return in, err
		}
		in.ExpiresAt, row = authz.ExpiresAt(ms), row[:n-2]
	}
	switch {
	case len(row) >= 3 && len(row) <= 4 && row[1] == "role":
		in.Subject, in.RoleID, row = row[0], row[2], row[3:]
	case len(row) >= 2 && len(row) <= 3 && row[1] != "role":
		in.Subject, in.Pattern, row = row[0], row[1], row[2:]
	default:
		return in, fmt.Errorf("a grant is %s", GrantForm)
	}
	if err := words.CheckSubject(in.Subject); err != nil {
		return in, err
	}
	in.Scope, err = scope(row)
	return in, err
}

// Revoke reads what stands behind the word revoke.
func Revoke(row []string) (in provider.RevokeInput, err error) {
	if len(row) < 2 || len(row) > 3 {
		return in, fmt.Errorf("a revoke is %s", RevokeForm)
	}
	in.UserID, in.Pattern = row[0], row[1]
	in.Scope, err = scope(row[2:])
	return in, err
}

// scope is the one that may stand at the end of a row.
func scope(rest []string) (named string, err error) {
	if len(rest) == 1 {
		named = rest[0]
	}
	return named, words.CheckScope(cmp.Or(named, authz.Global))
}
