package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/catalogdiff"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
)

// maxToldChanges bounds how many changes a refusal and an entry of the audit log name.
const maxToldChanges = 50

// ReloadCatalogs reads the catalog files of applications again, of all where none is
// named. What only adds comes into force at once, and is recorded in the application's
// audit log; anything else is refused, and the catalog stays as it is (spec: host §1.1).
// The caches of a changed application begin empty.
func (h *Host) ReloadCatalogs(ctx context.Context, prov authz.Provenance, names ...string) []api.CatalogReload {
	all, refused := len(names) == 0, false
	if all {
		names = sorted(h.apps)
	}
	list := make([]api.CatalogReload, len(names))
	for i, name := range names {
		cfg := h.config.Load()
		list[i] = api.CatalogReload{Application: name, File: cfg.Applications[name].Catalog, Changes: []catalogdiff.Change{}}
		app := h.apps[name]
		if app == nil {
			list[i].Refused = "this host serves no such application"
			continue
		}
		changes, err := app.reloadCatalog(ctx, cfg, list[i].File, prov)
		if err != nil {
			list[i].Refused = err.Error()
			refused = true
			h.log.Error("the catalog was not reloaded; the application goes on with the one it has", "application", name, "error", err)
			continue
		}
		if len(changes) > 0 {
			list[i].Changes = changes
			h.log.Info("the catalog was reloaded", "application", name, "changes", listed(texts(changes)))
			h.warnOfOtherCatalog(ctx, name, app.current.Load().Application)
		}
	}
	if all || refused { // of some, the others are as they were
		h.refused.catalogs.Store(refused)
	}
	return list
}

func (a *served) reloadCatalog(ctx context.Context, cfg *config.Config, file string, prov authz.Provenance) ([]catalogdiff.Change, error) {
	if err := files.Judge(file, files.Trusted); files.IsExposed(err) && !cfg.AllowsInsecure() {
		return nil, err
	}
	in, err := catalog.Load(file)
	if err != nil {
		return nil, err
	}
	next, err := catalog.Build(in)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", file, err)
	}
	ctx, cancel := context.WithTimeout(ctx, takeoverTime)
	defer cancel()
	return a.moves.vocabulary(ctx, next, prov)
}

// vocabulary puts an application over another catalog in the place of the current one.
func (m *moves) vocabulary(ctx context.Context, next *catalog.Catalog, prov authz.Provenance) ([]catalogdiff.Change, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil, errors.New("the host is stopping")
	}
	before := m.app.current.Load()
	changes, document, err := additions(before.Catalog(), next)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	if m.app.mesh != nil {
		return nil, errors.New("the application is in a mesh, whose members were held to its catalog at the start: restart the host")
	}
	o := m.app.options
	o.Catalog, o.Succeeds = next, before.Application
	over, err := application.New(ctx, o)
	if err != nil {
		return nil, err
	}
	asked := m.app.clientOptions
	asked.Provider, asked.Catalog = over, next
	c, err := client.New(asked)
	if err != nil {
		return nil, errors.Join(err, over.Close())
	}
	successor, err := m.successor(before, over)
	if err == nil {
		successor.ask(c)
		sum := sha256.Sum256(document)
		// Nothing comes into force that the log does not tell of.
		err = over.RecordCatalogReload(ctx, application.CatalogReload{Namespace: next.Namespace(), SHA256: hex.EncodeToString(sum[:]),
			Changes: len(changes), Told: texts(changes[:min(len(changes), maxToldChanges)])}, prov)
	}
	if err != nil {
		c.Close()
		return nil, errors.Join(err, over.Close())
	}
	m.app.options.Catalog = next
	m.app.succeed(before, successor)
	before.client.Close()
	return changes, before.Application.Close()
}

// additions are what a catalog has beyond another, nothing where both say the same. The
// error tells why it may not take the other's place while a host runs.
func additions(from, to *catalog.Catalog) ([]catalogdiff.Change, []byte, error) {
	before, err := from.Document()
	if err != nil {
		return nil, nil, err
	}
	after, err := to.Document()
	if err != nil {
		return nil, nil, err
	}
	changes, err := catalogdiff.Documents(before, after)
	if err != nil {
		return nil, nil, err
	}
	var beyond []string
	for _, c := range changes {
		if !c.Additive() {
			beyond = append(beyond, c.String())
		}
	}
	imports, err := sameImports(from, to)
	if err != nil {
		return nil, nil, err
	}
	if !imports {
		beyond = append(beyond, "the imports are others")
	}
	if len(beyond) > 0 {
		return nil, nil, fmt.Errorf("only additions come into force without a restart, and %s: restart the host", listed(beyond))
	}
	return changes, after, nil
}

func sameImports(from, to *catalog.Catalog) (bool, error) {
	before, err := from.Manifest()
	if err != nil {
		return false, err
	}
	after, err := to.Manifest()
	if err != nil {
		return false, err
	}
	if before == nil || after == nil {
		return before == nil && after == nil, nil
	}
	return catalogdiff.Same(before, after), nil
}

func texts(changes []catalogdiff.Change) []string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.String()
	}
	return all
}

// listed names the first of them.
func listed(texts []string) string {
	if left := len(texts) - maxToldChanges; left > 0 {
		return strings.Join(texts[:maxToldChanges], ", ") + fmt.Sprintf(" and %d more", left)
	}
	return strings.Join(texts, ", ")
}

// ReloadCatalogs serves the operation catalog.reload.
func (c control) ReloadCatalogs(ctx context.Context, app string, prov authz.Provenance) ([]api.CatalogReload, error) {
	if app == "" {
		return c.host.ReloadCatalogs(ctx, prov), nil
	}
	if _, err := c.store(app); err != nil {
		return nil, err
	}
	if c.host.apps[app] == nil { // the account data, which has a store too
		return nil, authz.Rejected(authz.CodeNotFound, "%s has no catalog file", app)
	}
	return c.host.ReloadCatalogs(ctx, prov, app), nil
}
