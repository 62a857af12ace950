package mesh

import (
	"context"
	"fmt"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// VerifyImports judges the imports of the application against what their owners have
// published now. Everything that stands against them is in one MeshVerifyFailed. It
// warns of attached documents that are older than the published ones
// (spec: mesh §6.4).
func (m *Member) VerifyImports(ctx context.Context) (warnings []string, err error) {
	if m.imports == nil {
		return nil, nil
	}
	r, err := m.conn.Registry(ctx)
	if err != nil {
		return nil, err
	}
	f := findings{c: m.conn}
	if r == nil {
		f.add(authz.MeshNoRegistry, authz.MeshFinding{}, "%s", errNoRegistry().Error())
		return nil, f.err()
	}
	for _, ns := range m.imports.namespaces {
		warning, err := m.verifyImport(ctx, r, ns, &f)
		if err != nil {
			return nil, err
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings, f.err()
}

func (m *Member) verifyImport(ctx context.Context, r *authz.Mesh, ns string, f *findings) (warning string, err error) {
	about := authz.MeshFinding{Namespace: ns}
	owner, found := r.Owner(ns)
	if !found {
		f.add(authz.MeshImportUnresolved, about, "%s", unresolved(ns).Message)
		return "", nil
	}
	about.Partition = owner.Partition
	if err := permitted(r, m.conn.partition, owner.Partition, authz.MeshRead); err != nil {
		f.add(authz.MeshNoEdge, about, "%s", err.Error())
		return "", nil
	}
	s, err := m.conn.store(ctx, owner.Partition)
	if err != nil {
		return "", f.found(owner.Partition, err)
	}
	persists, err := persisted(ctx, s)
	if err != nil {
		return "", failed("read the settings of "+owner.Partition, err)
	}
	if !persists {
		f.add(authz.MeshEventsNotPersisted, about, "rows of %s take part in checks here, and its events are not persisted", spell.Quote(owner.Partition))
	}
	head, published, err := s.GetCatalog(ctx)
	if err != nil {
		return "", failed("read the catalog of "+owner.Partition, err)
	}
	if !published {
		f.add(authz.MeshPeerNotPublished, about, "%s", notPublished(owner.Partition).Message)
		return "", nil
	}
	vocabulary, err := catalog.FromDocument(head.Document, catalog.DocumentOptions{})
	if err != nil {
		return "", f.found(owner.Partition, catalogInvalid(owner.Partition, err))
	}
	for _, pattern := range m.imports.vocabulary.ImportedPatterns(ns) {
		if len(vocabulary.KeysMatching(pattern)) == 0 {
			f.add(authz.MeshImportPatternMissing, about, "the import of %s matches nothing that %s has published", spell.Quote(pattern), spell.Quote(owner.Partition))
		}
	}
	return m.olderDocument(ns, owner.Partition, vocabulary, head.Version), nil
}

// olderDocument tells that the catalog was built with a document of the owner's that
// lacks keys which the published one has.
func (m *Member) olderDocument(ns, partition string, published *catalog.Catalog, version int64) string {
	lacking := 0
	for _, pattern := range m.imports.vocabulary.ImportedPatterns(ns) {
		for _, key := range published.KeysMatching(pattern) {
			if _, ok := m.imports.vocabulary.Leaf(key); !ok && !m.imports.vocabulary.HasKey(key) {
				lacking++
			}
		}
	}
	if lacking == 0 {
		return ""
	}
	return fmt.Sprintf("version %d of the catalog of %s has %d keys that match the import of %s and that the attached document lacks: attach the published one",
		version, spell.Quote(partition), lacking, spell.Quote(ns))
}
