package applications

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Registration proposes an application.
type Registration struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Namespaces []string `json:"namespaces"`
}

// maxName is in characters.
const maxName = 200

// Check is invalid_request, or nil.
func (r Registration) Check() error {
	var issues []fault.Issue
	wrong := func(path, format string, args ...any) {
		issues = append(issues, fault.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if !applicationID.MatchString(r.ID) {
		wrong("id", "must match %s", applicationID)
	}
	if n := utf8.RuneCountInString(r.Name); n < 1 || n > maxName {
		wrong("name", "must have 1 to %d characters", maxName)
	}
	if len(r.Namespaces) == 0 {
		wrong("namespaces", "must name at least one")
	}
	for i, ns := range r.Namespaces {
		switch {
		case !authz.IsSegment(ns):
			wrong(fmt.Sprintf("namespaces[%d]", i), "%s is not a single valid segment", spell.Quote(ns))
		case slices.Contains(r.Namespaces[:i], ns):
			wrong(fmt.Sprintf("namespaces[%d]", i), "%s is named twice", spell.Quote(ns))
		}
	}
	if issues != nil {
		return fault.Invalid(issues...)
	}
	return nil
}

// admitted judges what is well-formed, and still not to be had.
func (r Registration) admitted() error {
	for _, ns := range r.Namespaces {
		if registry.Reserved(ns) {
			return fault.Registry("namespace_reserved", "the namespace %s is reserved", ns)
		}
		if len(ns) > maxNamespace {
			return limit("namespace length", maxNamespace)
		}
	}
	if len(r.Namespaces) > MaxNamespaces {
		return limit("namespaces", MaxNamespaces)
	}
	return nil
}

// maxNamespace keeps the keys of records within what storage holds.
const maxNamespace = 128

func limit(of string, most int) *fault.Error {
	return fault.Cloud("limit_reached", "the limit of %d for %s is reached", most, of).With("limit", most)
}

// Register makes an entry and claims its namespaces: invalid_request,
// namespace_reserved, limit_reached, application_id_taken, namespace_taken.
func (e *Entries) Register(ctx context.Context, actor, org string, r Registration) (a Application, err error) {
	if err := cmp.Or(r.Check(), r.admitted()); err != nil {
		return Application{}, err
	}
	creation := account.NewID(ctx)
	err = e.store.Exclusive(ctx, section(org), func(ctx context.Context) error {
		existing, found, err := entries.Get(ctx, e.store, org, r.ID)
		switch {
		case err != nil:
			return err
		case found && existing.Value.Creation == creation: // the same work, begun by a host that died
			a, err = e.shown(ctx, org, existing.Value)
			return err
		case found:
			return fault.Cloud("application_id_taken", "the org has an application %s already", r.ID)
		}
		for _, ns := range r.Namespaces {
			if _, taken, err := claims.Get(ctx, e.store, org, ns); err != nil {
				return err
			} else if taken {
				return fault.Cloud("namespace_taken", "another application of the org has the namespace %s", ns)
			}
		}
		all, err := e.all(ctx, org)
		if err != nil {
			return err
		}
		if len(all) >= MaxApplications {
			return limit("applications", MaxApplications)
		}
		fresh := entry{Creation: creation, Application: Application{ID: r.ID, Name: r.Name, Namespaces: r.Namespaces, State: Registered,
			CreatedAt: e.store.Now(ctx), CreatedBy: actor, Etag: account.FirstEtag}}
		tx := e.store.Begin(ctx)
		entries.Put(tx, org, r.ID, fresh, 0)
		for _, ns := range r.Namespaces {
			claims.Put(tx, org, ns, claim{r.ID}, 0)
		}
		tx.Audit(org, actor, "application.register", r.ID, r)
		if err := tx.Commit(); err != nil {
			return err
		}
		a, err = e.shown(ctx, org, fresh)
		return err
	})
	return a, err
}

// Delete removes an entry, its link and its claims: application_not_found,
// invalid_transition, and precondition_failed when etag is neither "" nor the
// entry's. What it published and what was retained of it stays. Publisher keys of
// its namespaces and account rows at its scope go with it: they must not speak for
// whoever takes the id or a namespace next.
func (e *Entries) Delete(ctx context.Context, actor, org, id, etag string) error {
	return e.change(ctx, org, func(ctx context.Context) error {
		row, err := e.get(ctx, org, id)
		if err != nil {
			return err
		}
		a := row.Value.Application
		if etag != "" && etag != a.Etag {
			return account.ErrMoved
		}
		if a.State == Federated {
			return transition(a.State, "delete")
		}
		if err := e.moving(ctx, org, id); err != nil {
			return err
		}
		tx := e.store.Begin(ctx)
		if err := e.deleteMoves(ctx, tx, org, id); err != nil {
			return err
		}
		if err := e.deleteHealth(ctx, tx, org, id); err != nil {
			return err
		}
		entries.Delete(tx, org, id, row.Version)
		for _, ns := range a.Namespaces {
			owner, found, err := claims.Get(ctx, e.store, org, ns)
			if err != nil {
				return err
			}
			if found && owner.Value.Application == id {
				claims.Delete(tx, org, ns, owner.Version)
			}
		}
		if err := e.settleOrg(ctx, tx, org, a, true); err != nil {
			return err
		}
		keys, err := e.revokePublishers(ctx, tx, org, a.Namespaces)
		if err != nil {
			return err
		}
		rows, err := e.deleteRows(ctx, tx, org, cloud.App(id))
		if err != nil {
			return err
		}
		tx.Audit(org, actor, "application.delete", id, map[string]any{"state": a.State, "revokedKeys": keys, "deletedRows": rows})
		if err := tx.Commit(); err != nil {
			return err
		}
		e.relay.Forget(org, id)
		return nil
	})
}

func (e *Entries) revokePublishers(ctx context.Context, tx *account.Tx, org string, namespaces []string) (n int, err error) {
	now := e.store.Now(ctx)
	for row, err := range account.Keys.All(ctx, e.store, org) {
		if err != nil {
			return 0, err
		}
		if key := row.Value; key.Kind == account.KeyPublisher && key.RevokedAt == nil && slices.Contains(namespaces, key.Namespace) {
			key.RevokedAt, key.Etag = &now, account.NextEtag(key.Etag)
			account.Keys.Put(tx, org, row.ID, key, row.Version)
			n++
		}
	}
	return n, nil
}

func (e *Entries) deleteRows(ctx context.Context, tx *account.Tx, org, scope string) (n int, err error) {
	for row, err := range account.Grants.All(ctx, e.store, org) {
		if err != nil {
			return 0, err
		}
		if row.Value.Scope == scope {
			account.Grants.Delete(tx, org, row.ID, row.Version)
			n++
		}
	}
	for row, err := range account.Revokes.All(ctx, e.store, org) {
		if err != nil {
			return 0, err
		}
		if row.Value.Scope == scope {
			account.Revokes.Delete(tx, org, row.ID, row.Version)
			n++
		}
	}
	return n, nil
}
