package scripts

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Surface is an application as a script meets it.
type Surface struct {
	Provider provider.Provider
	Local    Local

	// Store is where the rows end up. It is read only.
	Store storage.Store

	// Now is the application's clock.
	Now *atomic.Int64

	// Call posts one operation to the provider handler.
	Call func(t testing.TB, op string, body json.RawMessage) WireAnswer

	// Heard answers the events told since it was last asked, in order.
	Heard func(t testing.TB) []authz.Event
}

// Local is what an application does that does not cross the network.
type Local interface {
	ImportDirectory(ctx context.Context, s directory.Snapshot, source string, o directory.Options) (directory.Result, error)
	NotifyScopeMoved(ctx context.Context, scope string) error
	ReconcileRows(ctx context.Context, in Reconciliation) (provider.Reconciled, error)
	ListSodViolations(ctx context.Context, userIDs *[]string) iter.Seq2[access.Violations, error]
	ExportEntitlements(ctx context.Context, userIDs *[]string) iter.Seq2[access.UserEntitlements, error]
	ListWildcardDrift(ctx context.Context, sinceVersion int64) (access.DriftReport, error)
	ListCatalogVersions(ctx context.Context) iter.Seq2[catalog.Publication, error]
}

// Reconciliation names what exists; a nil list says that everything does.
type Reconciliation struct {
	Users      *[]string        `json:"users,omitempty"`
	Orgs       *[]string        `json:"orgs,omitempty"`
	Scopes     *[]string        `json:"scopes,omitempty"`
	Sweep      bool             `json:"sweep"`
	Provenance authz.Provenance `json:"provenance"`

	KeepRoleGrants bool `json:"keepRoleGrants,omitempty"`
}

// Told collects what an application in this process tells its listeners, in the
// form of Surface.Heard.
func Told(from provider.Invalidation) func(testing.TB) []authz.Event {
	told := []authz.Event{}
	from.OnInvalidate(func(e authz.Event) { told = append(told, e) })
	return func(testing.TB) []authz.Event {
		since := told
		told = []authz.Event{}
		return since
	}
}

// Logged reads what was told from the log of events, as other processes learn of
// it.
func Logged(t testing.TB, log provider.EventLog) func(testing.TB) []authz.Event {
	t.Helper()
	head, err := log.Head(t.Context())
	must(t, err)
	cursor := head.Position
	return func(t testing.TB) []authz.Event {
		t.Helper()
		since := []authz.Event{}
		for {
			page, err := log.Since(t.Context(), cursor, 0)
			must(t, err)
			if page.Gap {
				t.Fatalf("events after %s are gone", cursor)
			}
			if len(page.Events) == 0 {
				return since
			}
			since, cursor = append(since, page.Events...), page.UpTo
		}
	}
}
