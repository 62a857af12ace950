package applications

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
)

// Relay asks linked applications; *relay.Relay does.
type Relay interface {
	CheckURL(ctx context.Context, org, application, raw string) error
	For(t relay.Target) relay.Linked
	Forget(org, application string)
}

// Options of Entries; all but Hosted are required.
type Options struct {
	Store  *account.Store
	Keys   *secret.Keys
	Relay  Relay
	Meters *billing.Meters

	// Hosted is the way to the org root of an org that is federated; nil serves none.
	Hosted func(ctx context.Context, org string) (relay.Linked, error)
}

// Entries are the applications of every org. Their methods return *fault.Error and
// are safe for concurrent use; actor is who acts, for the account log.
type Entries struct {
	store  *account.Store
	keys   *secret.Keys
	relay  Relay
	meters *billing.Meters
	hosted func(ctx context.Context, org string) (relay.Linked, error)
}

// New makes entries over the account data.
func New(o Options) *Entries {
	return &Entries{store: o.Store, keys: o.Keys, relay: o.Relay, meters: o.Meters, hosted: o.Hosted}
}

// Count counts the applications of a state: the meters linked_applications and
// federated_applications.
func Count(s *account.Store, state State) billing.Count {
	return func(ctx context.Context, org string) (n int64, err error) {
		for row, err := range entries.All(ctx, s, org) {
			if err != nil {
				return 0, err
			}
			if row.Value.State == state {
				n++
			}
		}
		return n, nil
	}
}

func (e *Entries) get(ctx context.Context, org, id string) (account.Row[entry], error) {
	if !applicationID.MatchString(id) {
		return account.Row[entry]{}, missing(id)
	}
	row, found, err := entries.Get(ctx, e.store, org, id)
	if err == nil && !found {
		err = missing(id)
	}
	return row, err
}

// Get reads an application with its last health and the heads of its namespaces:
// application_not_found.
func (e *Entries) Get(ctx context.Context, org, id string) (Application, error) {
	row, err := e.get(ctx, org, id)
	if err != nil {
		return Application{}, err
	}
	return e.shown(ctx, org, row.Value)
}

// Exists tells whether the org has an entry of that id.
func (e *Entries) Exists(ctx context.Context, org, id string) (bool, error) {
	if !applicationID.MatchString(id) {
		return false, nil
	}
	_, found, err := entries.Get(ctx, e.store, org, id)
	return found, err
}

// Query selects applications: of one state unless that is "", those that may be
// shown (nil: all), at most Limit (0: all) after a position ("": the beginning).
type Query struct {
	State State
	May   func(id string) (bool, error)
	After string
	Limit int
}

// List lists the org's applications by (createdAt, id). next is the position to go
// on from, "" at the end.
func (e *Entries) List(ctx context.Context, org string, q Query) (page []Application, next string, err error) {
	all, err := e.all(ctx, org)
	if err != nil {
		return nil, "", err
	}
	position := func(a entry) string { return fmt.Sprintf("%016d-%s", a.CreatedAt, a.ID) }
	var selected []entry
	for _, row := range all {
		a := row.Value
		if q.State != "" && a.State != q.State || position(a) <= q.After {
			continue
		}
		if q.May != nil {
			if may, err := q.May(a.ID); err != nil {
				return nil, "", err
			} else if !may {
				continue
			}
		}
		selected = append(selected, a)
	}
	slices.SortFunc(selected, func(a, b entry) int { return strings.Compare(position(a), position(b)) })
	if q.Limit > 0 && len(selected) > q.Limit {
		selected = selected[:q.Limit]
		next = position(selected[q.Limit-1])
	}
	heads, err := registry.Heads(ctx, e.store, org) // one read each for all of them
	if err != nil {
		return nil, "", err
	}
	health := map[string]Health{}
	for row, err := range healths.All(ctx, e.store, org) {
		if err != nil {
			return nil, "", err
		}
		health[row.ID] = row.Value
	}
	page = make([]Application, len(selected))
	for i, a := range selected {
		last, probed := health[a.ID]
		if !probed {
			last = Health{Status: Unverified}
		}
		page[i] = a.shown(last, heads)
	}
	return page, next, e.showAllMoves(ctx, org, page)
}

// all reads the entries by id; there are at most MaxApplications.
func (e *Entries) all(ctx context.Context, org string) ([]account.Row[entry], error) {
	var all []account.Row[entry]
	for row, err := range entries.All(ctx, e.store, org) {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

func (e *Entries) shown(ctx context.Context, org string, from entry) (Application, error) {
	health, err := e.lastHealth(ctx, org, from.ID)
	if err != nil {
		return Application{}, err
	}
	heads, err := registry.Heads(ctx, e.store, org, from.Namespaces...)
	if err != nil {
		return Application{}, err
	}
	a := from.shown(health, heads)
	return a, e.showMoves(ctx, org, &a)
}

// shown is the entry with what is read from elsewhere.
func (a entry) shown(health Health, heads map[string]registry.Head) Application {
	out := a.Application
	out.Health, out.Registry = &health, make([]Published, len(a.Namespaces))
	for i, ns := range a.Namespaces {
		out.Registry[i] = Published{Namespace: ns}
		if head, published := heads[ns]; published {
			out.Registry[i] = Published{ns, &head.Version, &head.PublishedAt}
		}
	}
	return out
}

// NamespacesOf lists the namespaces of an application: application_not_found.
func (e *Entries) NamespacesOf(ctx context.Context, org, id string) ([]string, error) {
	row, err := e.get(ctx, org, id)
	return row.Value.Namespaces, err
}

// OwnerID is the application that has the namespace.
func (e *Entries) OwnerID(ctx context.Context, org, namespace string) (id string, found bool, err error) {
	row, found, err := claims.Get(ctx, e.store, org, namespace)
	return row.Value.Application, found, err
}

// Claim is OwnerID for what tx writes: tx fails when the application has gone by
// then, or has lost the namespace.
func (e *Entries) Claim(ctx context.Context, tx *account.Tx, org, namespace string) (id string, found bool, err error) {
	row, found, err := claims.Get(ctx, e.store, org, namespace)
	if err != nil || !found {
		return "", false, err
	}
	owner, found, err := entries.Get(ctx, e.store, org, row.Value.Application)
	if err != nil || !found {
		return "", false, err
	}
	claims.Require(tx, org, namespace, row.Version)
	entries.Require(tx, org, owner.ID, owner.Version)
	return owner.ID, true, nil
}

// Owners maps every namespace that an application of the org has to its id.
func (e *Entries) Owners(ctx context.Context, org string) (map[string]string, error) {
	owners := map[string]string{}
	for row, err := range claims.All(ctx, e.store, org) {
		if err != nil {
			return nil, err
		}
		owners[row.ID] = row.Value.Application
	}
	return owners, nil
}

// org reads the org that entries belong to.
func (e *Entries) org(ctx context.Context, org string) (account.Row[account.Org], error) {
	row, found, err := account.Orgs.Get(ctx, e.store, org, account.OrgID)
	if err == nil && !found {
		err = fault.Internal(fmt.Errorf("the org %s has no record", org))
	}
	return row, err
}
