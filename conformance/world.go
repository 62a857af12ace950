package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// record is what becomes of a case, with what all its worlds share.
type record struct {
	*runner.Record
	target Target
	c      storageCase
	open   atomic.Int64 // stores that were opened
}

// world is one backend of a case, with a store of its partition "".
type world struct {
	*record
	*named

	ctx     context.Context
	backend Backend
	driver  storage.Driver // behind open
	prefix  string         // of partition names, "" when the names are the case's own
}

// named is a store whose shorthand fails the case on any error.
type named struct {
	storage.Store
	w       *world
	driver  storage.Driver
	logical string // the case's name of the partition
}

var worldNumber atomic.Int64

// newWorld makes a fresh backend.
func newWorld(ctx context.Context, r *record, o Options) *world {
	w := &world{record: r, ctx: ctx}
	if !r.target.Unpartitioned {
		w.prefix = fmt.Sprintf("%sc%s%d", r.target.Prefix, runName, worldNumber.Add(1))
	}
	w.backend = runner.Fresh(ctx, r.Record, func(ctx context.Context) (Backend, error) { return r.target.New(ctx, o) })
	w.driver = w.connect()
	w.named = w.open("")
	return w
}

// runName tells the partitions of this run from those of others on one server.
var runName = strings.ToLower(fmt.Sprintf("%x", time.Now().UnixNano()&0xffffffffff))

// fresh makes another backend for the same case.
func (w *world) fresh(o Options) *world { return newWorld(w.ctx, w.record, o) }

// check skips the case when its target lacks what it needs.
func (w *world) check() {
	for _, c := range w.c.Needs {
		if !w.has(c) {
			w.Skip(fmt.Sprintf("the driver lacks the capability %q", c))
		}
	}
	if c := w.c.Without; c != "" && w.has(c) {
		w.Skip(fmt.Sprintf("the driver has the capability %q", c))
	}
	for _, a := range w.c.Abilities {
		if !w.able(a) {
			w.Skip(a.missing())
		}
	}
}

func (w *world) able(a Ability) bool {
	switch a {
	case Kill:
		_, ok := w.backend.(Crasher)
		return ok
	case Freeze:
		_, ok := w.backend.(Freezer)
		return ok
	case Forge:
		_, ok := w.backend.(Forger)
		return ok
	case Processes:
		return w.target.SeparateProcesses
	case CrossLocks:
		return w.driver.Info().CrossProcess
	case Durable, Volatile:
		return declares(w.driver, a == Durable)
	case Unnamed:
		return w.target.Unpartitioned
	}
	return false
}

func (w *world) has(c storage.Capability) bool { return w.Info().Capabilities.Has(c) }

// ifHas returns the changes when the capability is there, else none.
func (w *world) ifHas(c storage.Capability, changes ...storage.Change) []storage.Change {
	if w.has(c) {
		return changes
	}
	return nil
}

// partition is the target's name of a partition that the case names as it likes.
func (w *world) partition(logical string) string {
	switch {
	case w.prefix == "":
		return logical
	case logical == "":
		return w.prefix
	}
	return w.prefix + "_" + logical
}

// connect opens another connection to the backend.
func (w *world) connect() storage.Driver {
	d, err := w.backend.Connect(w.ctx)
	if err != nil {
		w.Want("a connection", "%v", err)
	}
	w.Step("connect → %s", d.Info().Name)
	w.Cleanup(func() { _ = d.Close() })
	return d
}

// open opens a partition over the world's first connection.
func (w *world) open(logical string) *named { return w.openOver(w.driver, logical) }

// another opens a partition as another process would.
func (w *world) another(logical string) *named {
	if !w.target.SeparateProcesses {
		return w.open(logical)
	}
	return w.openOver(w.connect(), logical)
}

func (w *world) openOver(d storage.Driver, logical string) *named {
	s, err := d.Open(w.ctx, w.partition(logical))
	if err != nil {
		w.Want(fmt.Sprintf("partition %q opened", w.partition(logical)), "%v", err)
	}
	name := fmt.Sprintf("store %d", w.record.open.Add(1))
	w.Step("%s: open partition %q", name, w.partition(logical))
	return &named{&tracedStore{Store: s, name: name, record: w.Record}, w, d, logical}
}

// reopen closes the store and opens its partition again, over a new connection
// when rows survive one.
func (s *named) reopen() *named {
	w := s.w
	if err := s.Close(); err != nil {
		w.Want("the store closes", "%v", err)
	}
	if !w.able(Durable) {
		return w.openOver(s.driver, s.logical)
	}
	d := w.connect()
	_ = s.driver.Close()
	if s.driver == w.driver {
		w.driver = d
	}
	return w.openOver(d, s.logical)
}

// kill ends the process behind a store.
func (w *world) kill(s *named) {
	err := w.backend.(Crasher).Kill(s.driver)
	w.Step("kill the process behind %s", s.Store.(*tracedStore).name)
	if err != nil {
		w.Want("the process killed", "%v", err)
	}
}

// aheadOf is a section whose lease a clock wrote that ran ten years ahead.
func (s *named) aheadOf(key string) {
	const ahead = 10 * 365 * 24 * time.Hour
	err := s.w.backend.(Forger).Postpone(s.w.ctx, s.Info().Partition, key, ahead)
	s.w.Step("%s: the lease of %q ends %v later", s.Store.(*tracedStore).name, key, ahead)
	if err != nil {
		s.w.Want("the lease postponed", "%v", err)
	}
}

func (w *world) stop(s *named) {
	err := w.backend.(Freezer).Stop(s.driver)
	w.Step("stop the process behind %s", s.Store.(*tracedStore).name)
	if err != nil {
		w.Want("the process stopped", "%v", err)
	}
}

func (w *world) proceed(s *named) {
	w.Step("continue the process behind %s", s.Store.(*tracedStore).name)
	if err := w.backend.(Freezer).Continue(s.driver); err != nil {
		w.Want("the process continued", "%v", err)
	}
}

// meanwhile repeats f until it says no, or stop is called; stop waits for its
// end and expects that f ran at least once.
func (w *world) meanwhile(f func() bool) (stop func()) {
	var over atomic.Bool
	var rounds atomic.Int64
	wait := w.Background(func() {
		for !over.Load() && !w.Failed() {
			if !f() {
				return
			}
			rounds.Add(1)
		}
	})
	w.Cleanup(func() { over.Store(true) })
	return func() {
		for end := time.Now().Add(5 * time.Second); rounds.Load() == 0 && time.Now().Before(end) && !w.Failed(); {
			time.Sleep(time.Millisecond)
		}
		over.Store(true)
		wait()
	}
}

// against repeats read in the background while it calls write n times, and on
// until read has run often enough to have come between two writes. Where writes are
// so slow that they take more than 20 s, or Plan.RoundsWithin, a fifth of them is enough
// once read has run that often.
func (w *world) against(read func() bool, n int, write func(i int)) {
	const often = 60
	var rounds atomic.Int64
	stop := w.meanwhile(func() bool { defer rounds.Add(1); return read() })
	end := time.Now().Add(w.RoundsWithin(20 * time.Second))
	for i := 0; !w.Failed(); i++ {
		enough, late := rounds.Load() >= often, !time.Now().Before(end)
		if i >= n && (enough || late) || i >= n/5 && enough && late {
			break
		}
		write(i)
	}
	stop()
}

var commitNumber atomic.Int64

func commitID() string { return fmt.Sprintf("commit-%d", commitNumber.Add(1)) }

func changes(changes ...storage.Change) storage.Commit {
	return storage.Commit{ID: commitID(), At: 1000, Changes: changes}
}

// do commits and fails the case when that is refused.
func (s *named) do(c storage.Commit) storage.CommitResult {
	result, err := s.Commit(s.w.ctx, c)
	if err != nil {
		s.w.Want("the commit applied", "%v", err)
	}
	return result
}

func (s *named) write(c ...storage.Change) []storage.ChangeResult {
	return s.do(changes(c...)).Results
}

// refuse expects the code and returns the error.
func (s *named) refuse(code storage.Code, c storage.Commit) *storage.Error {
	result, err := s.Commit(s.w.ctx, c)
	if storage.CodeOf(err) != code {
		s.w.Want(fmt.Sprintf("the commit refused with %s", code), "%s", answer(result, err))
	}
	var refusal *storage.Error
	errors.As(err, &refusal)
	return refusal
}

func answer(result any, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("no error, %+v", result)
}

// race sends the commits at the same time, by turns over the stores.
func (w *world) race(stores []*named, commits ...storage.Commit) ([]storage.CommitResult, []error) {
	results, errs := make([]storage.CommitResult, len(commits)), make([]error, len(commits))
	w.Each(len(commits), func(i int) { results[i], errs[i] = stores[i%len(stores)].Commit(w.ctx, commits[i]) })
	return results, errs
}

// oneWins expects that one of the commits raced was applied and that the others
// are conflicts.
func (w *world) oneWins(errs []error) {
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			w.code(storage.CodeConflict, err)
		}
	}
	if won != 1 {
		w.Want("one commit of those raced applied, the others refused with conflict", "%v", errs)
	}
}

// code expects an error of that code, "" for none.
func (w *world) code(want storage.Code, err error) { w.codes(err, want) }

// codes expects an error of one of the codes.
func (w *world) codes(err error, want ...storage.Code) {
	if !slices.Contains(want, storage.CodeOf(err)) || err != nil && storage.CodeOf(err) == "" {
		w.Want(fmt.Sprintf("an error with the code %q", want), "%v", err)
	}
}

// rows collects a list.
func rows[T any](w *world, list iter.Seq2[T, error]) []T {
	var out []T
	for row, err := range list {
		if err != nil {
			w.Want("a list without an error", "%v after %d rows", err, len(out))
		}
		out = append(out, row)
	}
	return out
}

// listError is the error that a list ends with.
func listError[T any](list iter.Seq2[T, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// one returns a row that must be there.
func one[T any](w *world) func(T, bool, error) T {
	return func(row T, found bool, err error) T {
		if err != nil || !found {
			w.Want(fmt.Sprintf("the %T", row), "found %v, error %v", found, err)
		}
		return row
	}
}

// none expects the absence of a row.
func none[T any](w *world) func(T, bool, error) {
	return func(row T, found bool, err error) {
		var zero T
		if err != nil || found {
			w.Want(fmt.Sprintf("no %T", row), "found %v %+v, error %v", found, row, err)
		}
		w.same(zero, row)
	}
}

var sameOptions = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.AllowUnexported(authz.Expiry{}),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return json.Valid(a) && json.Valid(b) },
		cmp.Comparer(func(a, b json.RawMessage) bool { return jsonEqual(a, b) })),
}

func jsonEqual(a, b json.RawMessage) bool {
	var values [2]any
	for i, raw := range []json.RawMessage{a, b} {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&values[i]) != nil {
			return false
		}
	}
	return cmp.Equal(values[0], values[1])
}

// same compares by value: JSON by what it says, lists nil or empty alike.
func (w *world) same(want, got any) {
	if diff := cmp.Diff(want, got, sameOptions); diff != "" {
		w.Want(runner.Clip(shown(want), 300), "%s\ndifference (-expected +got):\n%s", runner.Clip(shown(got), 300), runner.Clip(diff, 2000))
	}
}

func shown(v any) string {
	if b, err := json.Marshal(v); err == nil {
		return string(b)
	}
	return fmt.Sprintf("%+v", v)
}

func ids[T any](list []T, id func(T) string) []string {
	out := make([]string, len(list))
	for i, row := range list {
		out[i] = id(row)
	}
	return out
}

func ptr[T any](v T) *T { return &v }
