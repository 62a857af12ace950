package acme

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// survey looks for the rows of the world among those of the host, by content.
// Roles are loaded before revokes and grants, so a host without one of the
// sample's roles holds none of its rows and is not asked for them.
func (l *load) survey(ctx context.Context) error {
	if err := l.surveyRoles(ctx); err != nil || len(l.hasRole) == 0 {
		return err
	}
	missing := len(l.world.Roles) - len(l.hasRole)
	revokes, err := l.surveyRevokes(ctx)
	if err != nil {
		return err
	}
	grants, err := l.surveyGrants(ctx)
	if err != nil {
		return err
	}
	l.loaded.AlreadyThere = missing+revokes+grants == 0
	return nil
}

func (l *load) surveyRoles(ctx context.Context) error {
	var stored struct{ Roles []authz.Role }
	if err := l.target.Provider.Call(ctx, "listRoles", nil, &stored); err != nil {
		return err
	}
	l.hasRole = map[string]bool{}
	for _, r := range stored.Roles {
		i := slices.IndexFunc(l.world.Roles, func(ours authz.Role) bool { return ours.ID == r.ID })
		if i < 0 {
			continue
		}
		if !slices.Equal(r.Patterns, l.world.Roles[i].Patterns) {
			return &NotThisWorldError{What: fmt.Sprintf("its role %s has other patterns", spell.Echo(r.ID))}
		}
		l.hasRole[r.ID] = true
	}
	return nil
}

// surveyRevokes answers how many are missing.
func (l *load) surveyRevokes(ctx context.Context) (missing int, err error) {
	var stored struct{ Revokes []authz.Revoke }
	if err := l.target.Provider.Call(ctx, "listRevokes", nil, &stored); err != nil {
		return 0, err
	}
	tuple := func(userID, pattern, scope string) string { return grantTuple(userID, "", pattern, scope) }
	ids := map[string]string{}
	for _, r := range stored.Revokes {
		ids[tuple(r.UserID, r.Pattern, r.Scope)] = r.ID
	}
	for i, r := range l.world.Revokes {
		if l.loaded.RevokeIDs[i] = ids[tuple(r.UserID, r.Pattern, r.Scope)]; l.loaded.RevokeIDs[i] == "" {
			missing++
		}
	}
	return missing, nil
}

// surveyGrants answers how many are missing. A row counts as the world's when
// its content and its expiry do: exactly the world's or none, but for an expiring
// row any instant that an earlier load can have given it.
func (l *load) surveyGrants(ctx context.Context) (missing int, err error) {
	var stored struct{ Grants []authz.Grant }
	if err := l.target.Provider.Call(ctx, "listGrants", nil, &stored); err != nil {
		return 0, err
	}
	now := time.Now().UnixMilli()
	byTuple := map[string][]authz.Grant{}
	for _, g := range stored.Grants {
		t := grantTuple(g.Subject, g.RoleID, g.Pattern, g.Scope)
		byTuple[t] = append(byTuple[t], g)
	}
	for i, ours := range l.world.Grants {
		rows := byTuple[ours.tuple()]
		n := slices.IndexFunc(rows, func(row authz.Grant) bool {
			at, dated := row.ExpiresAt.At()
			if ours.Expiring() {
				return dated && at <= now+ours.ExpiresInMs
			}
			return row.ExpiresAt == ours.ExpiresAt
		})
		if n < 0 {
			missing++
			continue
		}
		l.loaded.GrantIDs[i] = rows[n].ID
		if at, _ := rows[n].ExpiresAt.At(); ours.Expiring() {
			l.loaded.expiresAt = max(l.loaded.expiresAt, at)
		}
	}
	return missing, nil
}
