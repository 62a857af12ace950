package store_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// faulty decorates the memory driver with the deaths of a process: calls cut
// before or after they were carried out, handles dead for ever, openings refused.
type faulty struct {
	mu       sync.Mutex
	backend  *memory.Backend
	handles  []*faultyStore
	refusing error // of Open
	opens    int
	opening  int // at this moment
	mostOpen int // opening at once
	faults   map[string][]fault
	calls    map[string]int
	ahead    *time.Duration // of the database's clock
	old      bool           // it was built before renewal and health were capabilities
}

// fault strikes one call of one operation: before it is carried out, after it,
// or after a number of rows.
type fault struct {
	before, after func(context.Context) error
	rows          int
}

func newFaulty(opts memory.Options) *faulty {
	return &faulty{backend: memory.NewBackend(opts), faults: map[string][]fault{}, calls: map[string]int{}}
}

var errGone = errors.New("transport is closing")

func gone(context.Context) error {
	return storage.Unavailable(authz.OutcomeUnknown, errGone, "the plugin is gone")
}

// hang answers when the call is cut off, like a stopped process.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (d *faulty) strike(op string, f fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[op] = append(d.faults[op], f)
}

// kill makes every open handle dead; the next process serves the backend given,
// nil is the same one again (a durable driver).
func (d *faulty) kill(next *memory.Backend) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.handles {
		h.dead = true
	}
	if next != nil {
		d.backend = next
	}
}

// dying kills in the middle of a call and cuts the call.
func (d *faulty) dying(next *memory.Backend) func(context.Context) error {
	return func(ctx context.Context) error {
		d.kill(next)
		return gone(ctx)
	}
}

// refuse makes openings fail; nil lets them succeed again.
func (d *faulty) refuse(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusing = err
}

func (d *faulty) count(op string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[op]
}

func (d *faulty) opened() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opens
}

// gaveUp reports whether the handle first opened was closed.
func (d *faulty) gaveUp() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.handles[0].closed
}

func (d *faulty) Info() storage.DriverInfo {
	durable := true
	return storage.DriverInfo{Name: "faulty", Durable: &durable}
}

func (d *faulty) Close() error { return nil }

func (d *faulty) Open(ctx context.Context, partition string) (storage.Store, error) {
	d.mu.Lock()
	d.opens++
	d.opening++
	d.mostOpen = max(d.mostOpen, d.opening)
	backend, refusing := d.backend, d.refusing
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.opening--
	}()
	if refusing != nil {
		return nil, refusing
	}
	inner, err := backend.Driver().Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	h := &faultyStore{Store: inner, driver: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handles = append(d.handles, h)
	return h, nil
}

// faultyStore is one handle. dead and closed belong to the driver's mu.
type faultyStore struct {
	storage.Store
	driver *faulty
	dead   bool
	closed bool
}

func (h *faultyStore) Close() error {
	h.driver.mu.Lock()
	h.closed = true
	h.driver.mu.Unlock()
	return h.Store.Close()
}

// take counts a call and returns the fault that is to strike it.
func (h *faultyStore) take(op string) (f fault, dead bool) {
	h.driver.mu.Lock()
	defer h.driver.mu.Unlock()
	h.driver.calls[op]++
	if h.dead {
		return f, true
	}
	if left := h.driver.faults[op]; len(left) > 0 {
		f, h.driver.faults[op] = left[0], left[1:]
	}
	return f, false
}

func (h *faultyStore) isDead() bool {
	h.driver.mu.Lock()
	defer h.driver.mu.Unlock()
	return h.dead
}

// struck carries out a call with what is to go wrong with it.
func struck[T any](ctx context.Context, h *faultyStore, op string, call func() (T, error)) (T, error) {
	var none T
	f, dead := h.take(op)
	if dead {
		return none, gone(ctx)
	}
	if f.before != nil {
		if err := f.before(ctx); err != nil {
			return none, err
		}
	}
	v, err := call()
	if err == nil && f.after != nil {
		err = f.after(ctx)
	}
	if err == nil && h.isDead() {
		err = gone(ctx)
	}
	if err != nil {
		return none, err
	}
	return v, nil
}

func struckList[T any](ctx context.Context, h *faultyStore, op string, rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		f, dead := h.take(op)
		if dead {
			yield(none, gone(ctx))
			return
		}
		n := 0
		cut := func() bool {
			if f.before == nil || n != f.rows {
				return false
			}
			err := f.before(ctx)
			if err != nil {
				yield(none, err)
			}
			return err != nil
		}
		for row, err := range rows {
			if cut() || !yield(row, err) {
				return
			}
			n++
		}
		cut()
	}
}

type found[T any] struct {
	row T
	ok  bool
}

func (h *faultyStore) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	f, err := struck(ctx, h, "GetGrant", func() (found[authz.Grant], error) {
		row, ok, err := h.Store.GetGrant(ctx, id)
		return found[authz.Grant]{row, ok}, err
	})
	return f.row, f.ok, err
}

func (h *faultyStore) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	f, err := struck(ctx, h, "GetCommit", func() (found[storage.CommitResult], error) {
		row, ok, err := h.Store.GetCommit(ctx, id)
		return found[storage.CommitResult]{row, ok}, err
	})
	return f.row, f.ok, err
}

func (h *faultyStore) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	return struck(ctx, h, "ReadAccess", func() (storage.Access, error) { return h.Store.ReadAccess(ctx, q) })
}

func (h *faultyStore) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	return struck(ctx, h, "GetScopeParents", func() (map[string][]string, error) { return h.Store.GetScopeParents(ctx, scopes) })
}

func (h *faultyStore) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	return struck(ctx, h, "GetRoles", func() ([]authz.Role, error) { return h.Store.GetRoles(ctx, ids) })
}

func (h *faultyStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	return struck(ctx, h, "Commit", func() (storage.CommitResult, error) { return h.Store.Commit(ctx, c) })
}

func (h *faultyStore) Renew(ctx context.Context, expect string) (string, error) {
	return struck(ctx, h, "Renew", func() (string, error) { return h.Store.Renew(ctx, expect) })
}

func (h *faultyStore) Info() storage.StoreInfo {
	info := h.Store.Info()
	if !h.driver.old {
		return info
	}
	info.Capabilities = slices.DeleteFunc(info.Capabilities, func(c storage.Capability) bool {
		return c == storage.CapRenewal || c == storage.CapHealth
	})
	return info
}

// Health of a driver that tells.
func (h *faultyStore) Health(ctx context.Context) (storage.Health, error) {
	return struck(ctx, h, "Health", func() (storage.Health, error) {
		h.driver.mu.Lock()
		defer h.driver.mu.Unlock()
		return storage.Health{ClockAhead: h.driver.ahead}, nil
	})
}

func (h *faultyStore) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	_, err := struck(ctx, h, "RecordMetrics", func() (bool, error) { return true, h.Store.RecordMetrics(ctx, deltas) })
	return err
}

func (h *faultyStore) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return struckList(ctx, h, "ListGrants", h.Store.ListGrants(ctx, f, p))
}

func (h *faultyStore) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return struckList(ctx, h, "ListRevokes", h.Store.ListRevokes(ctx, f, p))
}

func (h *faultyStore) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return struckList(ctx, h, "ListRoles", h.Store.ListRoles(ctx, p))
}

func (h *faultyStore) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return struckList(ctx, h, "ListGroups", h.Store.ListGroups(ctx, p))
}

func (h *faultyStore) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return struckList(ctx, h, "ListUsers", h.Store.ListUsers(ctx, f, p))
}

func (h *faultyStore) ListUsersInGroup(ctx context.Context, id string, p storage.Page) iter.Seq2[string, error] {
	return struckList(ctx, h, "ListUsersInGroup", h.Store.ListUsersInGroup(ctx, id, p))
}

func (h *faultyStore) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return struckList(ctx, h, "ListRequests", h.Store.ListRequests(ctx, f, p))
}

func (h *faultyStore) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return struckList(ctx, h, "ListAudit", h.Store.ListAudit(ctx, f))
}

func (h *faultyStore) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return struckList(ctx, h, "ListCatalogVersions", h.Store.ListCatalogVersions(ctx))
}

func (h *faultyStore) ListRecords(ctx context.Context, c string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	return struckList(ctx, h, "ListRecords", h.Store.ListRecords(ctx, c, f, p))
}

func (h *faultyStore) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return struckList(ctx, h, "ReadMetrics", h.Store.ReadMetrics(ctx, f))
}

func (h *faultyStore) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return struckList(ctx, h, "Watch", h.Store.Watch(ctx))
}

func (h *faultyStore) Acquire(ctx context.Context, key string) (storage.Section, error) {
	inner, err := struck(ctx, h, "Acquire", func() (storage.Section, error) { return h.Store.Acquire(ctx, key) })
	if err != nil {
		return nil, err
	}
	return &faultySection{Section: inner, handle: h}, nil
}

type faultySection struct {
	storage.Section
	handle *faultyStore
}

func (s *faultySection) Renew(ctx context.Context) error {
	_, err := struck(ctx, s.handle, "Renew", func() (bool, error) { return true, s.Section.Renew(ctx) })
	return err
}

func (s *faultySection) Release(ctx context.Context) error {
	_, err := struck(ctx, s.handle, "Release", func() (bool, error) { return true, s.Section.Release(ctx) })
	return err
}
