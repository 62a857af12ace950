package plugin

import (
	"context"
	"errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// What evaluating one principal needs. It stands between a person and a cold check, so
// that what repeats crosses once: provenances once an answer, roles once a handle
// (known_roles.go).

func (s *storeClient) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	ask := &pluginv1.AccessQuery{Store: s.handle, UserId: q.UserID, Subjects: q.Subjects, Expand: q.Expand, Scope: q.Scope}
	for {
		a, err := read(ctx, s, s.rpc.ReadAccess, ask)
		if err != nil {
			return storage.Access{}, err
		}
		access, err := decodeAccess(a, &s.roles)
		if !errors.Is(err, errForgotten) || ask.GetWholeRoles() {
			return access, unreadable(err, "")
		}
		ask.WholeRoles = true
	}
}

func (s *storageServer) ReadAccess(ctx context.Context, q *pluginv1.AccessQuery) (*pluginv1.Access, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.Access, error) {
		a, err := store.ReadAccess(ctx, storage.AccessQuery{UserID: q.GetUserId(), Subjects: q.GetSubjects(), Expand: q.GetExpand(), Scope: q.GetScope()})
		if err != nil {
			return nil, err
		}
		out, err := encodeAccess(a, s.sent(q.GetStore()), q.GetWholeRoles())
		return out, returned(err)
	})
}

func encodeAccess(a storage.Access, sent *sentRoles, whole bool) (*pluginv1.Access, error) {
	out := &pluginv1.Access{Revokes: mapRows(a.Revokes, encodeRevoke), Head: a.Head.Seq, HeadIdentity: a.Head.Identity,
		Closure: a.Closure, ManagerChain: a.ManagerChain}
	if a.User != nil {
		out.User = encodeUser(*a.User)
	}
	if a.Parents != nil {
		out.Parents = encodeScopeParents(a.Parents)
	}
	out.Grants, out.Provenances = encodeAccessGrants(a.Grants)
	var err error
	out.Roles, out.RolesFrom, err = sent.encode(a.Roles, whole)
	return out, err
}

func encodeAccessGrants(grants []authz.Grant) ([]*pluginv1.AccessGrant, []*pluginv1.Provenance) {
	rows, out := make([]pluginv1.AccessGrant, len(grants)), make([]*pluginv1.AccessGrant, len(grants))
	var provenances []*pluginv1.Provenance
	places := map[authz.Provenance]uint32{}
	for i := range grants {
		g, row := &grants[i], &rows[i]
		if i == 0 || g.Provenance != grants[i-1].Provenance {
			place, ok := places[g.Provenance]
			if !ok {
				place = uint32(len(provenances))
				places[g.Provenance] = place
				provenances = append(provenances, encodeProvenance(g.Provenance))
			}
			row.Provenance = place
		} else {
			row.Provenance = rows[i-1].Provenance
		}
		row.Id, row.Subject, row.RoleId, row.Pattern, row.Scope = g.ID, g.Subject, g.RoleID, g.Pattern, g.Scope
		row.ExpiresAt, row.CreatedAt = encodeExpiry(g.ExpiresAt), g.CreatedAt
		out[i] = row
	}
	return out, provenances
}

// decodeAccess reads an answer. errForgotten means that it names roles which are not
// among those known.
func decodeAccess(a *pluginv1.Access, known *knownRoles) (storage.Access, error) {
	out := storage.Access{Revokes: mapRows(a.GetRevokes(), decodeRevoke), Head: authz.Position{Seq: a.GetHead(), Identity: a.GetHeadIdentity()},
		Closure: a.GetClosure(), ManagerChain: a.GetManagerChain()}
	if a.GetUser() != nil {
		user := decodeUser(a.GetUser())
		out.User = &user
	}
	if a.GetParents() != nil {
		out.Parents = decodeScopeParents(a.GetParents())
	}
	var err error
	if out.Grants, err = decodeAccessGrants(a.GetGrants(), a.GetProvenances()); err != nil {
		return storage.Access{}, err
	}
	out.Roles, err = known.decode(a.GetRoles(), a.GetRolesFrom())
	return out, err
}

func decodeAccessGrants(rows []*pluginv1.AccessGrant, of []*pluginv1.Provenance) (grants []authz.Grant, err error) {
	provenances := mapRows(of, decodeProvenance)
	if len(rows) > 0 {
		grants = make([]authz.Grant, len(rows))
	}
	for i, g := range rows {
		if int(g.GetProvenance()) >= len(provenances) {
			return nil, errors.New("a grant without its provenance")
		}
		grants[i] = authz.Grant{ID: g.GetId(), Subject: g.GetSubject(), RoleID: g.GetRoleId(), Pattern: g.GetPattern(), Scope: g.GetScope(),
			ExpiresAt: decodeExpiry(g.ExpiresAt), Provenance: provenances[g.GetProvenance()], CreatedAt: g.GetCreatedAt()}
	}
	return grants, nil
}

func (s *storeClient) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	a, err := read(ctx, s, s.rpc.GetScopeParents, &pluginv1.Keys{Store: s.handle, Keys: scopes})
	if err != nil {
		return nil, err
	}
	return decodeScopeParents(a), nil
}

func (s *storageServer) GetScopeParents(ctx context.Context, q *pluginv1.Keys) (*pluginv1.ScopeParents, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.ScopeParents, error) {
		parents, err := store.GetScopeParents(ctx, q.GetKeys())
		return encodeScopeParents(parents), err
	})
}
