package mesh

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// MemberOptions says what takes part in the evaluation of a member's own application.
type MemberOptions struct {
	// Imports lets live rows of the owners of imported namespaces take part.
	Imports bool

	// Except are imported namespaces that stay vocabulary: the mesh does not own them.
	Except []string
}

// Member is what an application of the own partition is constructed with: its store,
// with what the rest of the mesh lends to it.
//
// While the registry designates another partition, people, groups, roles and global
// rows are read there, and those of the own partition are inert. Writes go to the own
// partition, whose authority record refuses what is not its own to write
// (spec: mesh §6, §7).
type Member struct {
	storage.Store // of the own partition
	conn          *Connection
	partition     string     // the own one: of the connection, or of the neighbour that a peer stands for
	imports       *importing // nil: none take part
}

var _ storage.Store = (*Member)(nil)

// Member makes the store of the connection's own application. own is pinned to the
// connection's partition; its owner closes it.
func (c *Connection) Member(own storage.Store, vocabulary *catalog.Catalog, o MemberOptions) *Member {
	m := &Member{Store: own, conn: c, partition: c.partition}
	if o.Imports {
		m.imports = newImporting(c, vocabulary, o.Except)
	}
	return m
}

// org is the store of the organization's data, nil while that is the own partition.
func (m *Member) org(ctx context.Context) (storage.Store, error) {
	r, err := m.conn.recent(ctx)
	if err != nil {
		return nil, err
	}
	partition, err := orgOf(r, m.partition)
	if err != nil || partition == "" {
		return nil, err
	}
	return m.conn.store(ctx, partition)
}

// orgOf is the partition of the organization's data, "" while that is the one asked
// about. Only a member may read it: a partition that was taken out of the mesh has lost
// its people.
func orgOf(m *authz.Mesh, partition string) (string, error) {
	switch _, member := m.Member(partition); {
	case m.Org == nil || m.Org.Partition == partition:
		return "", nil
	case !member:
		return "", notAMember(partition)
	}
	return m.Org.Partition, nil
}

// people is where the organization's rows are read.
func (m *Member) people(ctx context.Context) (storage.Store, error) {
	org, err := m.org(ctx)
	if org == nil {
		return m.Store, err
	}
	return org, err
}

// writesApart is a store whose reads for writes go on when nobody may be answered.
type writesApart interface{ ForWrites() storage.Store }

// ForWrites is the member as writes judge themselves by it.
func (m *Member) ForWrites() storage.Store {
	own, ok := m.Store.(writesApart)
	if !ok {
		return m
	}
	return &Member{Store: own.ForWrites(), conn: m.conn, partition: m.partition, imports: m.imports}
}

// LostPosition implements provider.Losing for the own log.
func (m *Member) LostPosition(ctx context.Context, log string, at authz.Position) {
	if l, ok := m.Store.(provider.Losing); ok {
		l.LostPosition(ctx, log, at)
	}
}

// Commit writes to the own partition. Roles that it names are the organization's: they
// are looked up there, and cannot be held by a commit here.
func (m *Member) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	named := func(r storage.Requirement) bool { _, ok := r.(storage.RequireRole); return ok }
	if !slices.ContainsFunc(c.Requires, named) {
		return m.Store.Commit(ctx, c)
	}
	org, err := m.org(ctx)
	if err != nil {
		return storage.CommitResult{}, notSent(err)
	}
	if org == nil {
		return m.Store.Commit(ctx, c)
	}
	for _, r := range c.Requires {
		role, ok := r.(storage.RequireRole)
		if !ok {
			continue
		}
		if _, found, err := org.GetRole(ctx, role.ID); err != nil {
			return storage.CommitResult{}, notSent(err)
		} else if !found {
			return storage.CommitResult{}, storage.Errorf(storage.CodeNotFound, "the role is gone")
		}
	}
	c.Requires = slices.DeleteFunc(slices.Clone(c.Requires), named)
	return m.Store.Commit(ctx, c)
}

// notSent is an outage before a commit was sent.
func notSent(err error) error {
	return storage.Unavailable(authz.OutcomeNotApplied, err, "the organization's data could not be read")
}

func (m *Member) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	s, err := m.people(ctx)
	if err != nil {
		return authz.Role{}, false, err
	}
	return s.GetRole(ctx, id)
}

func (m *Member) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	s, err := m.people(ctx)
	if err != nil {
		return nil, err
	}
	return s.GetRoles(ctx, ids)
}

func (m *Member) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return from(ctx, m.people, func(s storage.Store) iter.Seq2[authz.Role, error] { return s.ListRoles(ctx, p) })
}

func (m *Member) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	s, err := m.people(ctx)
	if err != nil {
		return authz.Group{}, false, err
	}
	return s.GetGroup(ctx, id)
}

func (m *Member) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return from(ctx, m.people, func(s storage.Store) iter.Seq2[authz.Group, error] { return s.ListGroups(ctx, p) })
}

func (m *Member) GetUser(ctx context.Context, id string) (authz.User, bool, error) {
	s, err := m.people(ctx)
	if err != nil {
		return authz.User{}, false, err
	}
	return s.GetUser(ctx, id)
}

func (m *Member) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return from(ctx, m.people, func(s storage.Store) iter.Seq2[authz.User, error] { return s.ListUsers(ctx, f, p) })
}

func (m *Member) ListUsersInGroup(ctx context.Context, id string, p storage.Page) iter.Seq2[string, error] {
	return from(ctx, m.people, func(s storage.Store) iter.Seq2[string, error] { return s.ListUsersInGroup(ctx, id, p) })
}

// from lists what one of the stores has.
func from[Row any](ctx context.Context, choose func(context.Context) (storage.Store, error), list func(storage.Store) iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		s, err := choose(ctx)
		if err != nil {
			yield(*new(Row), err)
			return
		}
		list(s)(yield)
	}
}
