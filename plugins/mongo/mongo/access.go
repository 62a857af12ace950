package mongo

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (access storage.Access, err error) {
	if err := s.usable(ctx, q); err != nil {
		return access, err
	}
	if q.Scope != "" {
		return access, storage.Errorf(storage.CodeUnsupported, "this driver does not answer ancestors with access")
	}
	if q.Expand && q.UserID == "" {
		return access, storage.Errorf(storage.CodeValidation, "only a user's access can be expanded")
	}
	bound, cancel := bounded(ctx, readWait)
	defer cancel()
	err = s.partition.atOneInstant(bound, func() (err error) {
		access, err = s.partition.readAccess(bound, q)
		return failed(err)
	})
	if err != nil {
		if ctx.Err() != nil && storage.CodeOf(err) == storage.CodeUnavailable {
			err = interrupted(ctx)
		}
		return storage.Access{}, err
	}
	return access, nil
}

// readAccess reads the rows; the caller sees to it that they are of one instant.
func (p *partition) readAccess(ctx context.Context, q storage.AccessQuery) (a storage.Access, err error) {
	g, at := errgroup.WithContext(ctx)
	g.Go(func() error {
		epoch, err := p.readEpoch(at)
		a.Head = epoch.head()
		return err
	})
	if q.UserID != "" {
		g.Go(func() (err error) {
			a.Revokes, err = p.revokesOf(at, q.UserID)
			return err
		})
	}
	g.Go(func() (err error) {
		if q.UserID != "" {
			if a.User, err = p.user(at, q.UserID); err != nil {
				return err
			}
		}
		if q.Expand {
			a.ManagerChain, a.Closure, err = p.closure(at, q.UserID, a.User)
		}
		return err
	})
	if !q.Expand { // subjects are known: no need to wait for the user
		g.Go(func() (err error) {
			a.Grants, a.Roles, err = p.grantsOf(at, q.Subjects)
			return err
		})
	}
	if err := g.Wait(); err != nil || !q.Expand {
		return a, err
	}
	a.Grants, a.Roles, err = p.grantsOf(ctx, a.Closure)
	return a, err
}

func (p *partition) user(ctx context.Context, id string) (*authz.User, error) {
	in := p.in(layout.Users)
	row, found, err := in.One(ctx, in.Key(id))
	if err != nil || !found || row.Flag("gone") {
		return nil, err
	}
	u, err := users.from(row)
	return &u, err
}

func (p *partition) revokesOf(ctx context.Context, userID string) ([]authz.Revoke, error) {
	in := p.in(layout.Revokes)
	rows, _, err := in.Find(ctx, in.Where(eq("userId", userID), live), layout.Page{Sort: byID})
	if err != nil {
		return nil, err
	}
	return revokes.all(rows)
}

// grantsOf returns the grants of the subjects by id, and the roles that they name.
func (p *partition) grantsOf(ctx context.Context, subjects []string) (found []authz.Grant, named []authz.Role, err error) {
	in := p.in(layout.Grants)
	var roleIDs []string
	for some := range slices.Chunk(distinct(subjects), inList) {
		rows, _, err := in.Find(ctx, in.Where(eq("subject", bson.D{eq("$in", some)}), live), layout.Page{})
		if err != nil {
			return nil, nil, err
		}
		for _, row := range rows {
			g, err := grants.from(row)
			if err != nil {
				return nil, nil, err
			}
			found = append(found, g)
			if g.RoleID != "" {
				roleIDs = append(roleIDs, g.RoleID)
			}
		}
	}
	slices.SortFunc(found, func(a, b authz.Grant) int { return strings.Compare(a.ID, b.ID) })
	named, err = byKeys(ctx, p, roles, roleIDs)
	return found, named, err
}

// closure follows the manager chain and, level by level, the parents of groups.
func (p *partition) closure(ctx context.Context, userID string, user *authz.User) (chain, closure []string, err error) {
	parents := map[string][]string{}
	manager := ""
	if user != nil {
		manager = user.ManagerUserID
		for level := user.GroupIDs; len(level) > 0; {
			found, err := byKeys(ctx, p, groups, level)
			if err != nil {
				return nil, nil, err
			}
			for _, id := range level {
				parents[id] = nil
			}
			var next []string
			for _, g := range found {
				parents[g.ID] = g.Parents
				next = append(next, g.Parents...)
			}
			level = slices.DeleteFunc(next, func(id string) bool {
				_, known := parents[id]
				return known
			})
		}
	}
	chain, err = storage.ManagerChain(userID, manager, func(id string) (string, error) {
		u, err := p.user(ctx, id)
		if err != nil || u == nil {
			return "", err
		}
		return u.ManagerUserID, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return chain, storage.Closure(userID, user, chain, func(group string) []string { return parents[group] }), nil
}
