package account

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Partition is where account data lives.
const Partition = "__service"

// Store is the account data. Its methods return *fault.Error.
type Store struct {
	records storage.Store
	clock   func() int64
}

// New uses a store that is open on Partition and has records.
func New(records storage.Store, clock func() int64) *Store {
	return &Store{records: records, clock: clock}
}

// Now is the instant of what is written now, in epoch milliseconds: that of the
// work that ctx carries, else the clock's.
func (s *Store) Now(ctx context.Context) int64 {
	if w := workOf(ctx); w != nil {
		return w.At
	}
	return s.clock()
}

// Row is a stored value with the version that compare-and-set names.
type Row[T any] struct {
	ID      string // within its org
	Value   T
	Version int64
}

// Collection holds values of one kind. Key puts a value under an index string,
// by which List finds it; nil has none.
type Collection[T any] struct {
	Name string
	Key  func(T) string

	// Second is another such index string, for UnderSecond; nil has none.
	Second func(T) string
}

// separator ends the org in a record's id and in an index string. No id of an org
// holds it.
const separator = "/"

func recordID(org, id string) string { return org + separator + id }

// area is the first index string of an org's records; that of no org is not
// empty, since empty means no index string.
func area(org string) string {
	if org == "" {
		return separator
	}
	return org
}

// Get reads a value; org "" is the area that belongs to no org.
func (c Collection[T]) Get(ctx context.Context, s *Store, org, id string) (Row[T], bool, error) {
	record, found, err := s.get(ctx, c.Name, recordID(org, id))
	if err != nil || !found {
		return Row[T]{}, false, failed(err)
	}
	row, err := c.decode(org, record)
	return row, err == nil, err
}

// All lists the values of an org by id. Every value also lies under the org's own
// index string.
func (c Collection[T]) All(ctx context.Context, s *Store, org string) iter.Seq2[Row[T], error] {
	return c.list(ctx, s, org, storage.RecordFilter{Index: 1, Value: area(org)}, storage.Page{})
}

// Under lists the values whose Key is the given one, by id.
func (c Collection[T]) Under(ctx context.Context, s *Store, org, key string) iter.Seq2[Row[T], error] {
	return c.list(ctx, s, org, storage.RecordFilter{Index: 2, Value: recordID(org, key)}, storage.Page{})
}

// Page lists an org's values by id, at most limit after the given id ("" is the
// beginning). For collections that grow without bound.
func (c Collection[T]) Page(ctx context.Context, s *Store, org, after string, limit int) iter.Seq2[Row[T], error] {
	p := storage.Page{Limit: limit}
	if after != "" {
		p.After = recordID(org, after)
	}
	return c.list(ctx, s, org, storage.RecordFilter{Index: 1, Value: area(org)}, p)
}

// PageUnder is Page among the values whose Key is the given one.
func (c Collection[T]) PageUnder(ctx context.Context, s *Store, org, key, after string, limit int) iter.Seq2[Row[T], error] {
	p := storage.Page{Limit: limit}
	if after != "" {
		p.After = recordID(org, after)
	}
	return c.list(ctx, s, org, storage.RecordFilter{Index: 2, Value: recordID(org, key)}, p)
}

// UnderSecond lists the values whose Second is the given one, by id.
func (c Collection[T]) UnderSecond(ctx context.Context, s *Store, org, key string) iter.Seq2[Row[T], error] {
	return c.list(ctx, s, org, storage.RecordFilter{Index: 3, Value: recordID(org, key)}, storage.Page{})
}

func (c Collection[T]) list(ctx context.Context, s *Store, org string, f storage.RecordFilter, p storage.Page) iter.Seq2[Row[T], error] {
	return func(yield func(Row[T], error) bool) {
		for record, err := range s.records.ListRecords(ctx, c.Name, f, p) {
			if err != nil {
				yield(Row[T]{}, failed(err))
				return
			}
			if row, err := c.decode(org, record); !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func (c Collection[T]) decode(org string, record storage.Record) (Row[T], error) {
	row := Row[T]{Version: record.Version}
	id, ours := strings.CutPrefix(record.ID, org+separator)
	if !ours {
		return row, fault.Internal(fmt.Errorf("record %s of %s is not of org %s", record.ID, c.Name, org))
	}
	row.ID = id
	if err := json.Unmarshal(record.Data, &row.Value); err != nil {
		return row, fault.Internal(fmt.Errorf("record %s of %s: %w", record.ID, c.Name, err))
	}
	return row, nil
}

// Tx gathers what one commit writes.
type Tx struct {
	store    *Store
	ctx      context.Context
	changes  []storage.Change
	requires []storage.Requirement
	entries  map[string][]authz.AuditEntry // of the account log, by org
	err      error
}

// Begin starts a commit. Nothing is written before Commit.
func (s *Store) Begin(ctx context.Context) *Tx { return &Tx{store: s, ctx: ctx} }

// Put writes a value over the version that was read; 0 is a new one.
func (c Collection[T]) Put(tx *Tx, org, id string, value T, expect int64) {
	data, err := authz.Marshal(value)
	if err != nil {
		tx.err = fault.Internal(err)
		return
	}
	record := storage.Record{Collection: c.Name, ID: recordID(org, id), Data: data, UpdatedAt: tx.store.Now(tx.ctx)}
	record.Keys[0] = area(org)
	if c.Key != nil {
		record.Keys[1] = recordID(org, c.Key(value))
	}
	if c.Second != nil {
		record.Keys[2] = recordID(org, c.Second(value))
	}
	tx.changes = append(tx.changes, storage.PutRecord{Record: record, Expect: expect})
}

// Delete removes the version that was read.
func (c Collection[T]) Delete(tx *Tx, org, id string, expect int64) {
	tx.changes = append(tx.changes, storage.DeleteRecord{Collection: c.Name, ID: recordID(org, id), Expect: expect})
}

// Require holds a value at the version that was read until the commit has ended.
func (c Collection[T]) Require(tx *Tx, org, id string, version int64) {
	held := storage.RequireRecord{Collection: c.Name, ID: recordID(org, id), Version: version}
	if !slices.Contains(tx.requires, storage.Requirement(held)) {
		tx.requires = append(tx.requires, held)
	}
}

// ErrMoved is what Commit returns when something that was read has changed since:
// read again and judge again.
var ErrMoved = fault.Cloud("precondition_failed", "the object has changed since it was read; read it again")

// Commit makes everything durable, or nothing.
func (tx *Tx) Commit() error {
	if tx.err != nil || len(tx.changes) == 0 && len(tx.entries) == 0 {
		return tx.err
	}
	err := tx.inLogs(tx.commit)
	switch storage.CodeOf(err) {
	case storage.CodeConflict, storage.CodeNotFound:
		return ErrMoved
	}
	return failed(err)
}

// commit sends the changes under the caller's own context: when a section is lost,
// its fence refuses them and nothing needs to be broken off.
func (tx *Tx) commit(section context.Context) error {
	if recognised, err := tx.recognised(); err != nil || recognised {
		return err
	}
	links, err := tx.linked(section)
	if err != nil {
		return err
	}
	c := storage.Commit{ID: uuid.NewString(), At: tx.store.Now(tx.ctx), Fences: storage.Held(section, tx.store.records),
		Requires: tx.requires, Changes: slices.Concat(tx.changes, links)}
	w := workOf(tx.ctx)
	if w != nil {
		c.ID = w.commitID()
	}
	_, err = tx.store.records.Commit(tx.ctx, c)
	if err == nil && w != nil {
		w.commits.Add(1)
	}
	return err
}

// recognised tells whether an earlier run of the work made this commit already.
// Storage cannot tell of one that adds to the log, since the links of a repeat differ;
// inside the sections of the logs the earlier run has ended. A write that had asked
// Applied judged what is no longer so: ErrMoved.
func (tx *Tx) recognised() (bool, error) {
	w := workOf(tx.ctx)
	if w == nil || !w.Repeated || len(tx.entries) == 0 {
		return false, nil
	}
	found, err := tx.store.made(tx.ctx, w)
	switch {
	case err != nil || !found:
		return false, err
	case w.asked.Load() == w.commits.Load()+1:
		return false, ErrMoved
	}
	w.commits.Add(1)
	return true, nil
}

// Exclusive runs fn in a section of the account data.
func (s *Store) Exclusive(ctx context.Context, key string, fn func(context.Context) error) error {
	return failed(storage.RunExclusive(ctx, s.records, key, fn))
}

// Retry runs fn again when what it read had changed by its commit.
func Retry(fn func() error) error {
	for range 8 {
		if err := fn(); err != error(ErrMoved) {
			return err
		}
	}
	return ErrMoved
}

// failed leaves errors of the API alone; everything else is an outage of storage.
func failed(err error) error {
	if _, ours := err.(*fault.Error); err == nil || ours {
		return err
	}
	return fault.Storage(err)
}
