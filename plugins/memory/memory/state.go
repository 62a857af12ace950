package memory

import (
	"cmp"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// state is the whole content of a partition at one instant. Rows reached from a
// published state never change. No row has an empty key, so a probe with an
// empty id stands before every row of its range.
type state struct {
	grants   grantRows
	revokes  revokeRows
	roles    tree[*authz.Role]
	groups   tree[*authz.Group]
	users    userRows
	requests requestRows

	catalog  *storage.CatalogHead
	versions tree[*storage.CatalogVersion]
	imports  *storage.ImportsHead

	audit   auditRows
	log     eventLog
	metrics tree[*storage.MetricBucket]
	scopes  scopeRows
	records recordRows
	commits commitRows
}

func newState() *state {
	return &state{
		grants: grantRows{
			byID:      ordered(func(a, b *authz.Grant) int { return strings.Compare(a.ID, b.ID) }),
			bySubject: ordered(func(a, b *authz.Grant) int { return compare2(a.Subject, b.Subject, a.ID, b.ID) }),
			byScope:   ordered(func(a, b *authz.Grant) int { return compare2(a.Scope, b.Scope, a.ID, b.ID) }),
			at:        ordered(compareGrantsAt),
			byRole:    ordered(func(a, b *authz.Grant) int { return compare2(a.RoleID, b.RoleID, a.ID, b.ID) }),
			newest:    placed(authz.GrantsNewest),
			expiring:  placed(authz.GrantsExpiring),
		},
		revokes: revokeRows{
			byID:    ordered(func(a, b *authz.Revoke) int { return strings.Compare(a.ID, b.ID) }),
			byUser:  ordered(func(a, b *authz.Revoke) int { return compare2(a.UserID, b.UserID, a.ID, b.ID) }),
			byScope: ordered(func(a, b *authz.Revoke) int { return compare2(a.Scope, b.Scope, a.ID, b.ID) }),
		},
		roles:  ordered(func(a, b *authz.Role) int { return strings.Compare(a.ID, b.ID) }),
		groups: ordered(func(a, b *authz.Group) int { return strings.Compare(a.ID, b.ID) }),
		users: userRows{
			byID:  ordered(func(a, b *authz.User) int { return strings.Compare(a.UserID, b.UserID) }),
			edges: userEdges{orderedEdges(), orderedEdges(), orderedEdges()},
		},
		requests: requestRows{
			byID:        ordered(func(a, b *authz.Request) int { return strings.Compare(a.ID, b.ID) }),
			byCreated:   ordered(func(a, b *authz.Request) int { return compareAt(a.CreatedAt, b.CreatedAt, a.ID, b.ID) }),
			byRequester: ordered(func(a, b *authz.Request) int { return compare2(a.RequesterUserID, b.RequesterUserID, a.ID, b.ID) }),
		},
		versions: ordered(func(a, b *storage.CatalogVersion) int { return cmp.Compare(a.Version, b.Version) }),
		audit: auditRows{
			byID:       ordered(func(a, b *authz.AuditEntry) int { return strings.Compare(a.ID, b.ID) }),
			byPosition: ordered(func(a, b *authz.AuditEntry) int { return compareAt(a.At, b.At, a.ID, b.ID) }),
		},
		log: eventLog{moved: make(chan struct{})},
		metrics: ordered(func(a, b *storage.MetricBucket) int {
			return cmp.Or(compare2(a.Dimension, b.Dimension, a.Subject, b.Subject),
				cmp.Compare(a.Bucket, b.Bucket), strings.Compare(a.Metric, b.Metric))
		}),
		scopes: scopeRows{
			byID:    ordered(func(a, b *scopeParents) int { return strings.Compare(a.scope, b.scope) }),
			parents: orderedEdges(),
		},
		records: recordRows{
			byID:  ordered(func(a, b *storage.Record) int { return compare2(a.Collection, b.Collection, a.ID, b.ID) }),
			byKey: ordered(compareRecordKeys),
		},
		commits: commitRows{
			byID:  ordered(func(a, b *appliedCommit) int { return strings.Compare(a.id, b.id) }),
			byAge: ordered(func(a, b *appliedCommit) int { return compareAt(a.recordedAt, b.recordedAt, a.id, b.id) }),
		},
	}
}

func compare2(a1, b1, a2, b2 string) int {
	if c := strings.Compare(a1, b1); c != 0 {
		return c
	}
	return strings.Compare(a2, b2)
}

func compareAt(a, b int64, aID, bID string) int {
	if c := cmp.Compare(a, b); c != 0 {
		return c
	}
	return strings.Compare(aID, bID)
}

// draft is the next state while a commit builds it.
type draft struct {
	state
	edit *edit
}

func (st *state) draft() *draft { return &draft{state: *st, edit: new(edit)} }

// grantRows keeps each grant under its id and under what grants are found by.
// byRole holds only grants that name a role, and expiring only those that expire.
type grantRows struct {
	byID, bySubject, byScope, byRole tree[*authz.Grant]
	at                               tree[*authz.Grant] // by scope, subject and id
	newest, expiring                 tree[*authz.Grant]
}

func compareGrantsAt(a, b *authz.Grant) int {
	return cmp.Or(strings.Compare(a.Scope, b.Scope), compare2(a.Subject, b.Subject, a.ID, b.ID))
}

func (r *grantRows) insert(e *edit, g *authz.Grant) {
	r.byID.set(e, g)
	r.bySubject.set(e, g)
	r.byScope.set(e, g)
	r.at.set(e, g)
	if g.RoleID != "" {
		r.byRole.set(e, g)
	}
	r.newest.set(e, g)
	if !g.ExpiresAt.IsZero() {
		r.expiring.set(e, g)
	}
}

func (r *grantRows) remove(e *edit, g *authz.Grant) {
	r.byID.remove(e, g)
	r.bySubject.remove(e, g)
	r.byScope.remove(e, g)
	r.at.remove(e, g)
	if g.RoleID != "" {
		r.byRole.remove(e, g)
	}
	r.newest.remove(e, g)
	if !g.ExpiresAt.IsZero() {
		r.expiring.remove(e, g)
	}
}

// placed keeps grants by their places in an order.
func placed(o authz.GrantOrder) tree[*authz.Grant] {
	return ordered(func(a, b *authz.Grant) int { return o.Compare(o.Place(a), o.Place(b)) })
}

type revokeRows struct {
	byID, byUser, byScope tree[*authz.Revoke]
}

func (r *revokeRows) insert(e *edit, row *authz.Revoke) {
	r.byID.set(e, row)
	r.byUser.set(e, row)
	r.byScope.set(e, row)
}

func (r *revokeRows) remove(e *edit, row *authz.Revoke) {
	r.byID.remove(e, row)
	r.byUser.remove(e, row)
	r.byScope.remove(e, row)
}

// userRows keeps user records, and what points from them at other rows.
type userRows struct {
	byID  tree[*authz.User]
	edges userEdges
}

// userEdges are ordered by the row that they lead to.
type userEdges struct{ group, org, manager tree[storage.Edge] }

func orderedEdges() tree[storage.Edge] {
	return ordered(func(a, b storage.Edge) int { return compare2(a.Of, b.Of, a.From, b.From) })
}

// of are the edges of a kind, nil of a kind that users have not.
func (e *userEdges) of(kind storage.EdgeKind) *tree[storage.Edge] {
	switch kind {
	case storage.EdgeGroup:
		return &e.group
	case storage.EdgeOrg:
		return &e.org
	case storage.EdgeManager:
		return &e.manager
	}
	return nil
}

// each calls change with every edge of a user.
func (e *userEdges) each(u *authz.User, change func(edges *tree[storage.Edge], edge storage.Edge)) {
	for _, id := range u.GroupIDs {
		change(&e.group, storage.Edge{Of: id, From: u.UserID})
	}
	for _, id := range u.OrgIDs {
		change(&e.org, storage.Edge{Of: id, From: u.UserID})
	}
	if u.ManagerUserID != "" {
		change(&e.manager, storage.Edge{Of: u.ManagerUserID, From: u.UserID})
	}
}

func (r *userRows) put(e *edit, u *authz.User) {
	r.remove(e, u.UserID)
	r.byID.set(e, u)
	r.edges.each(u, func(edges *tree[storage.Edge], edge storage.Edge) { edges.set(e, edge) })
}

func (r *userRows) remove(e *edit, userID string) {
	old, found := r.byID.get(&authz.User{UserID: userID})
	if !found {
		return
	}
	r.byID.remove(e, old)
	r.edges.each(old, func(edges *tree[storage.Edge], edge storage.Edge) { edges.remove(e, edge) })
}

type requestRows struct {
	byID, byCreated, byRequester tree[*authz.Request]
}

func (r *requestRows) insert(e *edit, row *authz.Request) {
	r.byID.set(e, row)
	r.byCreated.set(e, row)
	r.byRequester.set(e, row)
}

func (r *requestRows) remove(e *edit, row *authz.Request) {
	r.byID.remove(e, row)
	r.byCreated.remove(e, row)
	r.byRequester.remove(e, row)
}

type auditRows struct {
	byID, byPosition tree[*authz.AuditEntry]
}

type scopeParents struct {
	scope   string
	parents []string
}

// scopeRows keeps the parents of scopes, and the scopes below each parent.
type scopeRows struct {
	byID    tree[*scopeParents]
	parents tree[storage.Edge]
}

func (r *scopeRows) put(e *edit, row *scopeParents) {
	r.remove(e, row.scope)
	r.byID.set(e, row)
	for _, parent := range row.parents {
		r.parents.set(e, storage.ParentEdge(row.scope, parent, row.parents))
	}
}

func (r *scopeRows) remove(e *edit, scope string) {
	old, found := r.byID.get(&scopeParents{scope: scope})
	if !found {
		return
	}
	r.byID.remove(e, old)
	for _, parent := range old.parents {
		r.parents.remove(e, storage.Edge{Of: parent, From: scope})
	}
}

// recordRows keeps each record under its id and under each of its index strings.
type recordRows struct {
	byID  tree[*storage.Record]
	byKey tree[recordKey]
}

// recordKey places a record under its index string of number n, from 1.
type recordKey struct {
	n   int
	row *storage.Record
}

func compareRecordKeys(a, b recordKey) int {
	return cmp.Or(strings.Compare(a.row.Collection, b.row.Collection), cmp.Compare(a.n, b.n),
		compare2(a.row.Keys[a.n-1], b.row.Keys[b.n-1], a.row.ID, b.row.ID))
}

func (r *recordRows) insert(e *edit, row *storage.Record) {
	r.byID.set(e, row)
	for i, key := range row.Keys {
		if key != "" {
			r.byKey.set(e, recordKey{i + 1, row})
		}
	}
}

func (r *recordRows) remove(e *edit, row *storage.Record) {
	r.byID.remove(e, row)
	for i, key := range row.Keys {
		if key != "" {
			r.byKey.remove(e, recordKey{i + 1, row})
		}
	}
}

// appliedCommit is what recognition needs of a commit, and its result.
type appliedCommit struct {
	id         string
	digest     storage.Digest
	result     storage.CommitResult
	recordedAt int64 // by the driver's clock, whatever instant the commit names
}

type commitRows struct {
	byID, byAge tree[*appliedCommit]
}
