package mesh

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh/imported"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/storage"
)

// importing reads what the owners of imported namespaces lend to the application
// (spec: mesh §6.1, §6.3).
type importing struct {
	conn       *Connection
	vocabulary *catalog.Catalog
	namespaces []string // imported and not excepted, sorted

	mu      sync.Mutex
	of      *authz.Mesh // the registry that the rest was made of
	owners  []owner
	missing error // the first owner that cannot be read
}

// owner is a member whose namespaces are imported.
type owner struct {
	partition string
	keys      *imported.Keys
}

func newImporting(c *Connection, vocabulary *catalog.Catalog, except []string) *importing {
	im := &importing{conn: c, vocabulary: vocabulary}
	for _, ns := range sorted(vocabulary.Namespaces()) {
		if vocabulary.NamespaceOrigin(ns) == authz.NamespaceImported && !slices.Contains(except, ns) {
			im.namespaces = append(im.namespaces, ns)
		}
	}
	return im
}

// ownersOf finds the owner of every imported namespace. It fails where one is unknown or
// may not be read: nothing is left out of an answer.
func (im *importing) ownersOf(m *authz.Mesh) ([]owner, error) {
	owners, err := im.readable(m)
	if err != nil {
		return nil, err
	}
	return owners, nil
}

// readable are the owners that can be read, and why others cannot.
func (im *importing) readable(m *authz.Mesh) ([]owner, error) {
	if im == nil {
		return nil, nil
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.of == m {
		return im.owners, im.missing
	}
	im.of, im.owners, im.missing = m, nil, nil
	for _, ns := range im.namespaces {
		member, found := m.Owner(ns)
		err := error(nil)
		if !found {
			err = unresolved(ns)
		} else {
			err = permitted(m, im.conn.partition, member.Partition, authz.MeshRead)
		}
		if err != nil {
			im.missing = cmp.Or(im.missing, err)
			continue
		}
		if !slices.ContainsFunc(im.owners, func(o owner) bool { return o.partition == member.Partition }) {
			im.owners = append(im.owners, owner{member.Partition, imported.New(imported.Owner{Partition: member.Partition, Namespaces: im.lent(member)}, im.vocabulary)})
		}
	}
	return im.owners, im.missing
}

// lent are the namespaces of an owner that are imported and not excepted.
func (im *importing) lent(member authz.MeshMember) (namespaces []string) {
	for _, ns := range member.Namespaces {
		if slices.Contains(im.namespaces, ns) {
			namespaces = append(namespaces, ns)
		}
	}
	return namespaces
}

func unresolved(namespace string) *authz.MeshError {
	return &authz.MeshError{Code: authz.MeshImportUnresolved, Namespace: namespace,
		Message: "no member of the mesh owns the imported namespace " + spell.Quote(namespace) +
			": register its owner, or name it in mesh.imports.except"}
}

// ownersAtOnce bounds how many owners one closure reads side by side.
const ownersAtOnce = 16

// begin starts to read what owners lend to a principal. What it answers waits for that
// and adds it to what the own partition has. Once an organization is designated, its
// rows are read where they live, and owners have none of their own to lend.
func (im *importing) begin(ctx context.Context, q storage.AccessQuery) func(storage.Access) (storage.Access, error) {
	nothing := func(read storage.Access) (storage.Access, error) { return read, nil }
	principal, ok := principalOf(q)
	if im == nil || !ok || !q.Expand && q.Subjects == nil {
		return nothing // the first half of a closure that a driver cannot follow names no subjects
	}
	failed := func(err error) func(storage.Access) (storage.Access, error) {
		return func(storage.Access) (storage.Access, error) { return storage.Access{}, err }
	}
	m, err := im.conn.recent(ctx)
	if err != nil {
		return failed(err)
	}
	owners, err := im.ownersOf(m)
	if err != nil {
		return failed(err)
	}
	if m.Org != nil || len(owners) == 0 {
		return nothing
	}
	supplies := make([]authz.SubjectAccess, len(owners))
	reads, reading := errgroup.WithContext(ctx)
	reads.SetLimit(ownersAtOnce)
	for i, o := range owners {
		reads.Go(func() (err error) {
			supplies[i], err = im.supply(reading, o.partition, principal)
			return err
		})
	}
	return func(read storage.Access) (storage.Access, error) {
		if err := reads.Wait(); err != nil {
			return storage.Access{}, err
		}
		own := authz.SubjectAccess{Closure: read.Closure, Grants: read.Grants, Roles: read.Roles, Revokes: read.Revokes}
		if own.Closure == nil {
			own.Closure = q.Subjects
		}
		if q.UserID != "" {
			own.UserID = &q.UserID
		}
		for i, o := range owners {
			var err error
			if own, err = o.keys.Add(own, supplies[i]); err != nil {
				return storage.Access{}, err
			}
		}
		read.Grants, read.Roles, read.Revokes = own.Grants, own.Roles, own.Revokes
		return read, nil
	}
}

// principalOf is whom a query asks about.
func principalOf(q storage.AccessQuery) (authz.Principal, bool) {
	if q.UserID != "" {
		return authz.UserPrincipal(q.UserID), true
	}
	for _, s := range q.Subjects {
		if id, ok := strings.CutPrefix(s, string(authz.SubjectService)+":"); ok {
			return authz.ServicePrincipal(id), true
		}
	}
	return authz.Principal{}, false
}

// supply reads what a partition has of a principal in its own closure. Expired rows are
// among it: every check judges expiry.
//
// It runs on a goroutine of its own, where a panic would end the process.
func (im *importing) supply(ctx context.Context, partition string, p authz.Principal) (supply authz.SubjectAccess, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read what %s lends: panic: %v", spell.Quote(partition), r)
		}
	}()
	s, err := im.conn.store(ctx, partition)
	if err != nil {
		return authz.SubjectAccess{}, err
	}
	if p.IsService() {
		subjects := []string{p.Subject(), authz.Everyone}
		read, err := s.ReadAccess(ctx, storage.AccessQuery{Subjects: subjects})
		return authz.SubjectAccess{Closure: subjects, Active: true, Grants: read.Grants, Roles: read.Roles}, err
	}
	read, err := application.Follow(ctx, s, p.UserID)
	return authz.SubjectAccess{UserID: &p.UserID, Closure: read.Closure, Active: read.User == nil || read.User.Active,
		Grants: read.Grants, Roles: read.Roles, Revokes: read.Revokes}, err
}
