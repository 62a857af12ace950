package conformance_test

import (
	"context"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/conformance/internal/mutants"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// mutant is the memory driver with one defect. Each of the cases named must
// catch it.
type mutant struct {
	name  string
	kind  string // what sort of defect it is
	cases string // separated by blanks

	store     func(*store)                                // breaks every store
	driver    func(storage.Driver) storage.Driver         // breaks the driver
	backend   func(*memory.Backend) func() storage.Driver // breaks the backend; its result connects
	processes bool                                        // over connections that can be killed and stopped
	target    func(*conformance.Target)                   // breaks more
}

// plainRun is how many mutants, evenly chosen, `go test` tries without
// AUTHZ_FULL=1.
const plainRun = 8

var full = os.Getenv("AUTHZ_FULL") == "1"

func TestMutantsAreCaught(t *testing.T) {
	all := slices.Concat(readMutants, lookupMutants, listMutants, writeMutants, logMutants, sectionMutants, partitionMutants, crashMutants)
	kinds := map[string]bool{}
	names := map[string]bool{}
	for _, m := range all {
		kinds[m.kind] = true
		if names[m.name] {
			t.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
	}
	for _, kind := range []string{"torn commit", "reused fence", "lost event", "wrong order", "applied twice", "foreign partition"} {
		if !kinds[kind] {
			t.Errorf("no mutant is a %s", kind)
		}
	}
	var left []string
	var tried []mutant
	for i, m := range all {
		if !full && i%(len(all)/plainRun) != 0 {
			left = append(left, m.name)
			continue
		}
		tried = append(tried, m)
		t.Run(m.kind+"/"+m.name, func(t *testing.T) {
			t.Parallel()
			m.caught(t)
		})
	}
	for _, processes := range []bool{false, true} {
		passed(t, tried, processes)
	}
	if len(left) > 0 {
		t.Logf("%d of %d mutants tried; AUTHZ_FULL=1 also tries: %s", len(all)-len(left), len(all), strings.Join(left, "; "))
	}
}

// caught runs the mutant's cases, each of which must fail with its own rule.
func (m mutant) caught(t *testing.T) {
	selected := conformance.Selection{IDs: strings.Fields(m.cases), Parallel: 2}
	named := func(r conformance.Result) bool { return slices.Contains(selected.IDs, r.Case.ID) }
	for _, r := range conformance.Check(t.Context(), m.over(), selected, nil).Results {
		missed := mutants.Missed(r)
		switch {
		case !named(r): // a variant of a case named
		case missed != "":
			t.Error(missed)
		case testing.Verbose():
			t.Logf("%s caught it at %s: expected %.100q, got %.100q", r.Case.ID, r.Failure.Where, r.Failure.Expected, r.Failure.Got)
		}
	}
}

// passed runs the mutants' cases over the driver as it is: each must pass, and none be
// skipped but those of drivers that lack what this one has.
func passed(t *testing.T, tried []mutant, processes bool) {
	t.Helper()
	selected := conformance.Selection{Parallel: 2}
	for _, m := range tried {
		if m.processes == processes {
			selected.IDs = append(selected.IDs, strings.Fields(m.cases)...)
		}
	}
	if len(selected.IDs) == 0 {
		return
	}
	for _, r := range conformance.Check(t.Context(), mutant{processes: processes}.over(), selected, nil).Results {
		lacking := r.Outcome == conformance.Skipped && strings.HasPrefix(r.Reason, "the driver has the capability")
		if slices.Contains(selected.IDs, r.Case.ID) && r.Outcome != conformance.Passed && !lacking {
			t.Errorf("the driver as it is: %s %s %s\n%v", r.Case.ID, r.Outcome, r.Reason, r.Failure)
		}
	}
}

// over is a target with the mutant's defect.
func (m mutant) over() conformance.Target {
	broken := func(d storage.Driver) storage.Driver {
		if m.store != nil {
			d = &driver{Driver: d, broken: m.store}
		}
		if m.driver != nil {
			d = m.driver(d)
		}
		return d
	}
	target := processTarget(broken)
	if !m.processes {
		target = conformance.Target{Name: "mutant", Unpartitioned: true, SeparateProcesses: true,
			New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
				b := memory.NewBackend(memory.Options{Lease: o.Lease})
				connect := b.Driver
				if m.backend != nil {
					connect = m.backend(b)
				}
				return connects(func() storage.Driver { return broken(connect()) }), nil
			}}
	}
	if m.target != nil {
		m.target(&target)
	}
	return target
}

type connects func() storage.Driver

func (c connects) Connect(context.Context) (storage.Driver, error) { return c(), nil }
func (connects) Close() error                                      { return nil }

// driver opens broken stores.
type driver struct {
	storage.Driver
	broken func(*store)
}

func (d *driver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	b := wrapped(s)
	d.broken(b)
	return b, nil
}

// store is a store some of whose operations are replaced; the embedded one is
// the sound store.
type store struct {
	storage.Store
	commit       func(context.Context, storage.Commit) (storage.CommitResult, error)
	acquire      func(context.Context, string) (storage.Section, error)
	readAccess   func(context.Context, storage.AccessQuery) (storage.Access, error)
	getGrant     func(context.Context, string) (authz.Grant, bool, error)
	getRole      func(context.Context, string) (authz.Role, bool, error)
	getRoles     func(context.Context, []string) ([]authz.Role, error)
	getUser      func(context.Context, string) (authz.User, bool, error)
	listGrants   func(context.Context, storage.GrantFilter, storage.Page) iter.Seq2[authz.Grant, error]
	countGrants  func(context.Context, storage.GrantFilter) (int64, error)
	listRevokes  func(context.Context, storage.RevokeFilter, storage.Page) iter.Seq2[authz.Revoke, error]
	listUsers    func(context.Context, storage.UserFilter, storage.Page) iter.Seq2[authz.User, error]
	listRoles    func(context.Context, storage.Page) iter.Seq2[authz.Role, error]
	listGroups   func(context.Context, storage.Page) iter.Seq2[authz.Group, error]
	listRecords  func(context.Context, string, storage.RecordFilter, storage.Page) iter.Seq2[storage.Record, error]
	listVersions func(context.Context) iter.Seq2[storage.CatalogVersion, error]
	members      func(context.Context, string, storage.Page) iter.Seq2[string, error]
	listRequests func(context.Context, storage.RequestFilter, storage.RequestPage) iter.Seq2[authz.Request, error]
	listAudit    func(context.Context, storage.AuditFilter) iter.Seq2[authz.AuditEntry, error]
	head         func(context.Context) (authz.Position, error)
	eventsSince  func(context.Context, authz.Position, int) (storage.EventPage, error)
	pruneEvents  func(context.Context, storage.PruneEvents) (int64, error)
	watch        func(context.Context) iter.Seq2[int64, error]
	scopeParents func(context.Context, []string) (map[string][]string, error)
	listScopes   func(context.Context, storage.Page) iter.Seq2[string, error]
	userIDs      func(context.Context, string, storage.Page) iter.Seq2[string, error]
	findGrants   func(context.Context, authz.GrantSearch, storage.FoundPage) iter.Seq2[authz.Grant, error]
	listEdges    func(context.Context, storage.EdgeKind, []string, storage.EdgePage) iter.Seq2[storage.Edge, error]
	grantsAt     func(context.Context, []string, storage.GrantsAtPage) iter.Seq2[authz.Grant, error]
	readPeople   func(context.Context, storage.PeopleQuery) (storage.People, error)
	record       func(context.Context, []storage.MetricBucket) error
	pruneMetrics func(context.Context, int64) (int64, error)
	getVersion   func(context.Context, int64) (storage.CatalogVersion, bool, error)
	getRecord    func(context.Context, string, string) (storage.Record, bool, error)
	renew        func(ctx context.Context, expect string) (string, error)
	health       func(context.Context) (storage.Health, error)
	close        func() error
	info         func() storage.StoreInfo
}

// wrapped is a store whose operations are those of the sound one.
func wrapped(sound storage.Store) *store {
	return &store{
		Store:        sound,
		commit:       sound.Commit,
		acquire:      sound.Acquire,
		readAccess:   sound.ReadAccess,
		getGrant:     sound.GetGrant,
		getRole:      sound.GetRole,
		getRoles:     sound.GetRoles,
		getUser:      sound.GetUser,
		listGrants:   sound.ListGrants,
		countGrants:  sound.CountGrants,
		listRevokes:  sound.ListRevokes,
		listUsers:    sound.ListUsers,
		listRoles:    sound.ListRoles,
		listGroups:   sound.ListGroups,
		listRecords:  sound.ListRecords,
		listVersions: sound.ListCatalogVersions,
		members:      sound.ListUsersInGroup,
		listRequests: sound.ListRequests,
		listAudit:    sound.ListAudit,
		head:         sound.Head,
		eventsSince:  sound.EventsSince,
		pruneEvents:  sound.PruneEvents,
		watch:        sound.Watch,
		scopeParents: sound.GetScopeParents,
		listScopes:   sound.ListScopes, userIDs: sound.ListUserIDs, findGrants: sound.FindGrants, listEdges: sound.ListEdges, grantsAt: sound.ListGrantsAt, readPeople: sound.ReadPeople,
		record:       sound.RecordMetrics,
		pruneMetrics: sound.PruneMetrics,
		getVersion:   sound.GetCatalogVersion,
		getRecord:    sound.GetRecord,
		close:        sound.Close,
		info:         sound.Info,
		renew:        sound.Renew,
		health:       sound.Health,
	}
}

func (s *store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	return s.commit(ctx, c)
}

func (s *store) Acquire(ctx context.Context, key string) (storage.Section, error) {
	return s.acquire(ctx, key)
}

func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	return s.readAccess(ctx, q)
}

func (s *store) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return s.getGrant(ctx, id)
}

func (s *store) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return s.getRole(ctx, id)
}

func (s *store) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	return s.getRoles(ctx, ids)
}

func (s *store) GetUser(ctx context.Context, id string) (authz.User, bool, error) {
	return s.getUser(ctx, id)
}

func (s *store) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return s.listGrants(ctx, f, p)
}

func (s *store) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	return s.countGrants(ctx, f)
}

func (s *store) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return s.listRevokes(ctx, f, p)
}

func (s *store) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return s.listUsers(ctx, f, p)
}

func (s *store) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return s.listRoles(ctx, p)
}

func (s *store) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return s.listGroups(ctx, p)
}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	return s.listRecords(ctx, collection, f, p)
}

func (s *store) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return s.listVersions(ctx)
}

func (s *store) ListUsersInGroup(ctx context.Context, group string, p storage.Page) iter.Seq2[string, error] {
	return s.members(ctx, group, p)
}

func (s *store) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return s.listRequests(ctx, f, p)
}

func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return s.listAudit(ctx, f)
}

func (s *store) Head(ctx context.Context) (authz.Position, error) { return s.head(ctx) }

func (s *store) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	return s.eventsSince(ctx, after, limit)
}

func (s *store) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	return s.pruneEvents(ctx, p)
}

func (s *store) Watch(ctx context.Context) iter.Seq2[int64, error] { return s.watch(ctx) }

func (s *store) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	return s.scopeParents(ctx, scopes)
}

func (s *store) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	return s.listScopes(ctx, p)
}

func (s *store) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	return s.findGrants(ctx, q, p)
}

func (s *store) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	return s.userIDs(ctx, prefix, p)
}

func (s *store) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	return s.listEdges(ctx, kind, of, p)
}

func (s *store) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	return s.grantsAt(ctx, scopes, p)
}

func (s *store) ReadPeople(ctx context.Context, q storage.PeopleQuery) (storage.People, error) {
	return s.readPeople(ctx, q)
}

func (s *store) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	return s.record(ctx, deltas)
}

func (s *store) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	return s.pruneMetrics(ctx, before)
}

func (s *store) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	return s.getVersion(ctx, version)
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	return s.getRecord(ctx, collection, id)
}

func (s *store) Renew(ctx context.Context, expect string) (string, error) {
	return s.renew(ctx, expect)
}

func (s *store) Health(ctx context.Context) (storage.Health, error) { return s.health(ctx) }

func (s *store) Close() error { return s.close() }

func (s *store) Info() storage.StoreInfo { return s.info() }

// only keeps the rows of a list that keep says, and alters them by it.
func only[T any](list iter.Seq2[T, error], keep func(i int, row *T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		i := 0
		for row, err := range list {
			if err == nil {
				if i++; !keep(i-1, &row) {
					continue
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// collected is a list's rows.
func collected[T any](list iter.Seq2[T, error]) (rows []T, err error) {
	for row, err := range list {
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// listOf is a list of rows.
func listOf[T any](rows []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// altering replaces changes of commits; nil drops one.
func altering(alter func(s *store, c storage.Change) storage.Change) func(*store) {
	return func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			changes := make([]storage.Change, len(c.Changes))
			for i, change := range c.Changes {
				changes[i] = alter(s, change)
			}
			c.Changes = changes
			return s.Store.Commit(ctx, c)
		}
	}
}

// committing alters whole commits before they are judged.
func committing(alter func(c *storage.Commit)) func(*store) {
	return func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			c.Changes = slices.Clone(c.Changes)
			alter(&c)
			return s.Store.Commit(ctx, c)
		}
	}
}
