package postgres

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// The kinds of row that a read of a principal's access returns.
const (
	accessUser = iota
	accessMembership
	accessGrant
	accessRevoke
	accessRole
	accessHead
	accessParent
	accessManager
	accessScope
)

// accessRow is one row of the statement: every kind of row in columns that are
// wide enough for all of them.
type accessRow struct {
	kind                int64
	a, b, c, d, e, j, k []byte // nil is NULL; good until the next row
	m, n                cell
}

// cell is a number, or NULL.
type cell struct {
	n   int64
	set bool
}

func (c cell) pointer() *int64 {
	if !c.set {
		return nil
	}
	return &c.n
}

// read takes the row from the wire: half of the cells are empty, and there are
// many of them.
func (r *accessRow) read(fields []pgconn.FieldDescription, raw [][]byte) error {
	r.a, r.b, r.c, r.d, r.e, r.j, r.k = raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], raw[7]
	var numbers [3]cell
	for i, column := range []int{0, 8, 9} {
		var err error
		if numbers[i], err = number(fields[column].Format, raw[column]); err != nil {
			return err
		}
	}
	r.kind, r.m, r.n = numbers[0].n, numbers[1], numbers[2]
	return nil
}

// text is a text cell for a scan.
func text(raw []byte) *string {
	if raw == nil {
		return nil
	}
	s := string(raw)
	return &s
}

func number(format int16, raw []byte) (cell, error) {
	switch {
	case raw == nil:
		return cell{}, nil
	case format == pgx.BinaryFormatCode && len(raw) == 4:
		return cell{int64(int32(binary.BigEndian.Uint32(raw))), true}, nil
	case format == pgx.BinaryFormatCode && len(raw) == 8:
		return cell{int64(binary.BigEndian.Uint64(raw)), true}, nil
	case format == pgx.TextFormatCode:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		return cell{n, true}, err
	}
	return cell{}, fmt.Errorf("%d bytes are no integer", len(raw))
}

// The parts of the statement. $1 is the partition, $2 the user, $3 the subjects.
const (
	// What the closure is made of. An edge is followed once whatever its direction
	// comes back to. The inner limits keep each step a look into an index.
	accessWalk = `with recursive
		person as materialized (
			select "userId", "active", "orgIds", "managerUserId" from "AuthzUser" where "app" = $1 and "userId" = $2),
		walked(child, id, ordinal) as (
			select null::text collate "C", "groupId", "ordinal" from "AuthzMembership" where "app" = $1 and "userId" = $2
			union
			select p."childId", p."parentId", p."ordinal" from walked w cross join lateral (
				select "childId", "parentId", "ordinal" from "AuthzGroupParent" where "app" = $1 and "childId" = w.id offset 0) p),
		chain(id, manager) as (
			select "userId", "managerUserId" from person where "managerUserId" is not null
			union
			select u."userId", u."managerUserId" from chain c cross join lateral (
				select "userId", "managerUserId" from "AuthzUser" where "app" = $1 and "userId" = c.manager and "managerUserId" is not null offset 0) u),
		held as materialized (
			select ` + accessGrantColumns + ` from "AuthzGrant" where "app" = $1 and "subject" = any(array(
				select 'user:' || $2::text
				union all select 'everyone'
				union all select 'group:' || id from walked
				union all select 'directs:' || manager from chain where id = $2
				union all select 'orgof:' || manager from chain
				union all select 'org:' || o from person, json_array_elements_text("orgIds") o)))`

	accessGiven = `with
		person as materialized (
			select "userId", "active", "orgIds", "managerUserId" from "AuthzUser" where "app" = $1 and "userId" = $2),
		held as materialized (
			select ` + accessGrantColumns + ` from "AuthzGrant" where "app" = $1 and "subject" = any($3::text[]))`

	accessGrantColumns = `"id", "subject", "roleId", "pattern", "scope", "expiresAt", "provenance", "createdAt"`

	accessRows = `
		select %d::integer, "id", "subject", "roleId", "pattern", "scope", "provenance", null::json, "expiresAt", "createdAt" from held
		union all
		select %d, "userId", "managerUserId", null, null, null, "orgIds", null, "active"::integer::bigint, null from person
		union all
		select %d, "id", "userId", null, "pattern", "scope", "provenance", null, null, "createdAt" from "AuthzRevoke" where "app" = $1 and "userId" = $2
		union all
		select %d, "id", "name", "description", null, null, "patterns", "requestable", null, null from "AuthzRole"
			where "app" = $1 and "id" = any(array(select distinct "roleId" from held where "roleId" is not null))`

	accessHeadRow = `
		union all
		select %d, "identity", null, null, null, null, null, null, null, "seq" from "AuthzEpoch" where "app" = $1`

	accessMemberships = `
		union all
		select %d, "groupId", null, null, null, null, null, null, null, "ordinal" from "AuthzMembership" where "app" = $1 and "userId" = $2`

	accessEdges = `
		union all
		select case when child is null then %d else %d end, id, child, null, null, null, null, null, null, ordinal from walked
		union all
		select %d, id, manager, null, null, null, null, null, null, null from chain`

	// The scopes above one, each once, with their recorded parents. They come from the
	// recursion as they are asked for, so that the limit ends it.
	accessAbove = `
		above(id) as (
			select %s::text collate "C"
			union
			select v.value collate "C" from above s cross join lateral (
				select "parents" from "AuthzScopeParent" where "app" = $1 and "scope" = s.id offset 0) p
				cross join lateral json_array_elements_text(p."parents") v)`

	accessScopes = `
		(select %d::integer, s.id, null::text, null::text, null::text, null::text, p."parents"::json, null::json, null::bigint, null::bigint from above s
			left join lateral (select "parents" from "AuthzScopeParent" where "app" = $1 and "scope" = s.id offset 0) p on true limit %d)`
)

// accessKind is a kind of question: each has a statement of its own.
type accessKind struct{ expand, head, scope, alone bool }

func (k accessKind) text() string {
	scopes := fmt.Sprintf(accessScopes, accessScope, storage.MaxScopes+1)
	if k.alone {
		text := "with recursive" + fmt.Sprintf(accessAbove, "$2") + scopes
		if k.head {
			text += fmt.Sprintf(accessHeadRow, accessHead)
		}
		return text
	}
	text, given := accessGiven, "$4"
	if k.expand {
		text, given = accessWalk, "$3"
	}
	if k.scope {
		text = "with recursive" + fmt.Sprintf(accessAbove, given) + "," + text[strings.Index(text, "\n"):]
	}
	text += fmt.Sprintf(accessRows, accessGrant, accessUser, accessRevoke, accessRole)
	if k.scope {
		text += "\n\t\tunion all" + scopes
	}
	if k.head {
		text += fmt.Sprintf(accessHeadRow, accessHead)
	}
	if k.expand {
		return text + fmt.Sprintf(accessEdges, accessMembership, accessParent, accessManager)
	}
	return text + fmt.Sprintf(accessMemberships, accessMembership)
}

var accessTexts = func() map[accessKind]string {
	texts := map[accessKind]string{}
	for _, head := range []bool{false, true} {
		for _, k := range []accessKind{{}, {expand: true}, {scope: true}, {expand: true, scope: true}, {scope: true, alone: true}} {
			k.head = head
			texts[k] = k.text()
		}
	}
	return texts
}()

// ReadAccess is one statement, so that everything in its answer is of one instant
// whatever the isolation.
func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if err := s.usable(ctx, q); err != nil {
		return storage.Access{}, err
	}
	if q.Expand && q.UserID == "" {
		return storage.Access{}, storage.Errorf(storage.CodeValidation, "only a user's access can be expanded")
	}
	var user *string
	if q.UserID != "" {
		user = &q.UserID
	}
	args := []any{s.partition, user}
	if !q.Expand {
		args = append(args, nonNil(q.Subjects))
	}
	kind := accessKind{expand: q.Expand, head: s.driver.has(storage.CapEvents), scope: q.Scope != ""}
	if kind.scope {
		if err := s.able(ctx, storage.CapAncestors); err != nil {
			return storage.Access{}, err
		}
		if kind.alone = q.UserID == "" && len(q.Subjects) == 0; kind.alone {
			args = args[:1]
		}
		args = append(args, q.Scope)
	}
	text := s.driver.sql(accessTexts[kind])
	found := newAccessFound()
	err := s.driver.read(ctx, func(c *pgxpool.Conn) error {
		found = newAccessFound()
		rows, err := c.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		var r accessRow
		for rows.Next() {
			if err := r.read(rows.FieldDescriptions(), rows.RawValues()); err != nil {
				return err
			}
			if err := found.add(&r); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err != nil {
		return storage.Access{}, readError(err)
	}
	return found.access(q)
}

// edge is an edge in the order that its owner lists it.
type edge struct {
	to      string
	ordinal int64
}

func sorted(edges []edge) []string {
	slices.SortFunc(edges, func(a, b edge) int {
		if a.ordinal != b.ordinal {
			return int(a.ordinal - b.ordinal)
		}
		return strings.Compare(a.to, b.to)
	})
	ids := make([]string, len(edges))
	for i, e := range edges {
		ids[i] = e.to
	}
	return ids
}

type accessFound struct {
	out      storage.Access
	groups   []edge
	parents  map[string][]edge
	managers map[string]string
	above    map[string][]string // recorded parents of scopes
	reached  int                 // scopes

	// provenances are those decoded so far: many grants have the same one.
	provenances map[string]authz.Provenance
}

func newAccessFound() accessFound {
	return accessFound{parents: map[string][]edge{}, managers: map[string]string{}, above: map[string][]string{}, provenances: map[string]authz.Provenance{}}
}

func (f *accessFound) add(r *accessRow) error {
	switch r.kind {
	case accessUser:
		active := r.m.n != 0
		user, err := relational.Users.Scan(placed(text(r.a), &active, r.j, text(r.b)))
		f.out.User = &user
		return err
	case accessMembership:
		f.groups = append(f.groups, edge{string(r.a), r.n.n})
	case accessGrant:
		return f.addGrant(r)
	case accessRevoke:
		v, err := relational.Revokes.Scan(placed(text(r.a), text(r.b), text(r.d), text(r.e), r.j, r.n.pointer()))
		f.out.Revokes = append(f.out.Revokes, v)
		return err
	case accessRole:
		role, err := relational.Roles.Scan(placed(text(r.a), text(r.b), text(r.c), r.j, r.k))
		f.out.Roles = append(f.out.Roles, role)
		return err
	case accessHead:
		f.out.Head = authz.Position{Seq: r.n.n, Identity: string(r.a)}
	case accessParent:
		f.parents[string(r.b)] = append(f.parents[string(r.b)], edge{string(r.a), r.n.n})
	case accessManager:
		f.managers[string(r.a)] = string(r.b)
	case accessScope:
		f.reached++
		return relational.AddParents(placed(text(r.a), r.j), f.above)
	}
	return nil
}

// addGrant does by hand what the shared codec does: grants are most of an answer.
func (f *accessFound) addGrant(r *accessRow) error {
	provenance, known := f.provenances[string(r.j)]
	if !known {
		if err := json.Unmarshal(r.j, &provenance); err != nil {
			return err
		}
		f.provenances[string(r.j)] = provenance
	}
	g := authz.Grant{ID: string(r.a), Subject: string(r.b), RoleID: string(r.c), Pattern: string(r.d), Scope: string(r.e),
		Provenance: provenance, CreatedAt: r.n.n}
	if r.m.set {
		g.ExpiresAt = authz.ExpiresAt(r.m.n)
	}
	f.out.Grants = append(f.out.Grants, g)
	return nil
}

// placed scans values that were read already, in the order of an entity's columns.
func placed(values ...any) relational.Scan {
	return func(dest ...any) error {
		if len(dest) != len(values) {
			return fmt.Errorf("%d columns for %d", len(values), len(dest))
		}
		for i, value := range values {
			if !place(dest[i], value) {
				return fmt.Errorf("column %d: a %T for a %T", i, value, dest[i])
			}
		}
		return nil
	}
}

func place(dest, value any) bool {
	switch d := dest.(type) {
	case *string:
		v, _ := value.(*string)
		if v == nil {
			return false
		}
		*d = *v
	case **string:
		*d, _ = value.(*string)
	case *int64:
		v, _ := value.(*int64)
		if v == nil {
			return false
		}
		*d = *v
	case **int64:
		*d, _ = value.(*int64)
	case *bool:
		v, _ := value.(*bool)
		if v == nil {
			return false
		}
		*d = *v
	case *[]byte:
		*d, _ = value.([]byte)
	default:
		return false
	}
	return true
}

// access puts what was found in its order. The database follows edges that lead
// back to the user too; the closure decides which rows belong.
func (f *accessFound) access(q storage.AccessQuery) (storage.Access, error) {
	out := f.out
	if out.User != nil {
		out.User.GroupIDs = sorted(f.groups)
	}
	if q.Scope != "" && f.reached <= storage.MaxScopes {
		out.Parents = f.above
	}
	slices.SortFunc(out.Grants, func(a, b authz.Grant) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(out.Revokes, func(a, b authz.Revoke) int { return strings.Compare(a.ID, b.ID) })
	if !q.Expand {
		return out, nil
	}
	managerOf := func(id string) (string, error) { return f.managers[id], nil }
	out.ManagerChain, _ = storage.ManagerChain(q.UserID, f.managers[q.UserID], managerOf) // it never fails
	parents := make(map[string][]string, len(f.parents))
	for group, edges := range f.parents {
		parents[group] = sorted(edges)
	}
	out.Closure = storage.Closure(q.UserID, out.User, out.ManagerChain, func(group string) []string { return parents[group] })
	subjects := make(map[string]bool, len(out.Closure))
	for _, subject := range out.Closure {
		subjects[subject] = true
	}
	out.Grants = slices.DeleteFunc(out.Grants, func(g authz.Grant) bool { return !subjects[g.Subject] })
	roles := map[string]bool{}
	for _, g := range out.Grants {
		roles[g.RoleID] = true
	}
	out.Roles = slices.DeleteFunc(out.Roles, func(r authz.Role) bool { return !roles[r.ID] })
	return out, nil
}
