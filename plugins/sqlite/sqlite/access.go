package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var (
	revokesOfUser = `SELECT ` + revokes.columns + ` FROM ` + using(relational.RevokeTable, "userId") + ` WHERE "app" = ? AND "userId" = ? ORDER BY "id"`

	// In the order of the index, in which nothing has to be sorted or looked up.
	grantsOfSubjects = `SELECT ` + grants.columns + ` FROM ` + using(relational.GrantTable, "subject") + ` WHERE "app" = ? AND ` + inSubjects
)

const (
	// managersAbove yields the manager of the user and of everybody above, each
	// once, loops included.
	managersAbove = `WITH RECURSIVE above("id") AS (
			VALUES (?2)
			UNION SELECT u."managerUserId" FROM above CROSS JOIN "AuthzUser" AS u
				WHERE u."app" = ?1 AND u."userId" = above."id" AND u."managerUserId" IS NOT NULL)
		SELECT u."userId", u."managerUserId" FROM above CROSS JOIN "AuthzUser" AS u
			WHERE u."app" = ?1 AND u."userId" = above."id" AND u."managerUserId" IS NOT NULL`

	// parentsAbove yields the parent edges of the user's groups and of every group
	// above them, in the order of each group's list.
	parentsAbove = `WITH RECURSIVE above("id") AS (
			SELECT m."groupId" FROM "AuthzMembership" AS m WHERE m."app" = ?1 AND m."userId" = ?2
			UNION SELECT e."parentId" FROM above CROSS JOIN "AuthzGroupParent" AS e
				WHERE e."app" = ?1 AND e."childId" = above."id")
		SELECT e."childId", e."parentId" FROM above CROSS JOIN "AuthzGroupParent" AS e
			WHERE e."app" = ?1 AND e."childId" = above."id" ORDER BY e."childId", e."ordinal", e."parentId"`

	// scopesAbove yields a scope and every one above it with its recorded parents, NULL
	// of one that was never recorded; at most ?3 of them.
	scopesAbove = `WITH RECURSIVE above("id") AS (
			VALUES (?2)
			UNION SELECT j.value FROM above CROSS JOIN "AuthzScopeParent" AS p CROSS JOIN json_each(p."parents") AS j
				WHERE p."app" = ?1 AND p."scope" = above."id" LIMIT ?3)
		SELECT above."id", p."parents" FROM above LEFT JOIN "AuthzScopeParent" AS p ON p."app" = ?1 AND p."scope" = above."id"`
)

func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (access storage.Access, err error) {
	if err := s.usable(ctx, q); err != nil {
		return storage.Access{}, err
	}
	if q.Expand && q.UserID == "" {
		return storage.Access{}, storage.Errorf(storage.CodeValidation, "only a user's access can be expanded")
	}
	err = s.db.snapshot(ctx, func(w *work) (err error) {
		// A statement that can be interrupted costs two goroutines. Only the one
		// that may read many rows is worth them.
		brief := &work{session: w.session, ctx: ctx, running: context.WithoutCancel(ctx)}
		access, err = readAccess(brief, w, s.app, q)
		return err
	})
	if err != nil {
		return storage.Access{}, err
	}
	return access, nil
}

func readAccess(w, long *work, app string, q storage.AccessQuery) (a storage.Access, err error) {
	if a.Head, _, err = w.epoch(app); err != nil {
		return a, err
	}
	if q.Scope != "" {
		if a.Parents, err = parentsAboveScope(w, app, q.Scope); err != nil {
			return a, err
		}
	}
	if q.UserID != "" {
		user, found, err := rowOf(w, users.Scan, users.get, app, q.UserID)
		if err != nil {
			return a, err
		}
		if found {
			a.User = &user
		}
		if a.Revokes, err = rowsOf(w, revokes.Scan, revokesOfUser, app, q.UserID); err != nil {
			return a, err
		}
	}
	if q.Expand {
		if err := expand(w, app, q.UserID, &a); err != nil {
			return a, err
		}
		q.Subjects = a.Closure
	}
	if len(q.Subjects) == 0 {
		return a, nil
	}
	subjects, err := listOf(q.Subjects)
	if err != nil {
		return a, err
	}
	if a.Grants, err = rowsOf(long, grants.Scan, grantsOfSubjects, app, subjects); err != nil {
		return a, err
	}
	slices.SortFunc(a.Grants, func(x, y authz.Grant) int { return strings.Compare(x.ID, y.ID) })
	var named []string
	for _, g := range a.Grants {
		if g.RoleID != "" {
			named = append(named, g.RoleID)
		}
	}
	if len(named) == 0 {
		return a, nil
	}
	ids, err := listOf(distinct(named))
	if err != nil {
		return a, err
	}
	a.Roles, err = rowsOf(w, roles.Scan, rolesByID, app, ids)
	return a, err
}

func parentsAboveScope(w *work, app, scope string) (map[string][]string, error) {
	parents, reached := map[string][]string{}, 0
	err := w.each(scopesAbove, []any{app, scope, storage.MaxScopes + 1}, func(scan relational.Scan) (bool, error) {
		reached++
		return false, relational.AddParents(scan, parents)
	})
	if err != nil || reached > storage.MaxScopes {
		return nil, err
	}
	return parents, nil
}

// expand follows the stored edges of a user.
func expand(w *work, app, userID string, a *storage.Access) error {
	managers := map[string]string{}
	parents := map[string][]string{}
	if a.User != nil && a.User.ManagerUserID != "" {
		err := eachEdge(w, managersAbove, app, userID, func(user, manager string) { managers[user] = manager })
		if err != nil {
			return err
		}
	}
	if a.User != nil && len(a.User.GroupIDs) > 0 {
		err := eachEdge(w, parentsAbove, app, userID, func(child, parent string) { parents[child] = append(parents[child], parent) })
		if err != nil {
			return err
		}
	}
	managerOf := func(user string) (string, error) { return managers[user], nil }
	chain, err := storage.ManagerChain(userID, managers[userID], managerOf)
	if err != nil {
		return err
	}
	a.ManagerChain = chain
	a.Closure = storage.Closure(userID, a.User, chain, func(group string) []string { return parents[group] })
	return nil
}

func eachEdge(w *work, text, app, start string, edge func(from, to string)) error {
	return w.each(text, []any{app, start}, func(scan relational.Scan) (bool, error) {
		var from, to string
		err := scan(&from, &to)
		if err == nil {
			edge(from, to)
		}
		return false, err
	})
}
