package sqlite

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestCommitIDsAreForgottenAfterADay(t *testing.T) {
	var now atomic.Int64
	now.Store(1_000_000_000)
	_, s := open(t, Options{Path: tempFile(t), Clock: now.Load})
	commit := func(id string) storage.CommitResult {
		result, err := s.Commit(t.Context(), role(id))
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	for i := range 40 {
		commit(fmt.Sprint("c", i))
	}
	now.Add(keepCommits)
	if !commit("c0").Replayed {
		t.Error("an id of a day is forgotten")
	}
	now.Add(1)
	for i := range 5 {
		commit(fmt.Sprint("d", i))
	}
	if n := rowsIn(t, s, relational.CommitTable); n != 5 {
		t.Errorf("%d ids are kept", n)
	}
}

func TestIdleLockRowsAreForgottenAndNoFenceComesBack(t *testing.T) {
	for _, lock := range []Lock{LockTable, LockNone} {
		t.Run(string(lock), func(t *testing.T) {
			var now atomic.Int64
			now.Store(1_000_000_000)
			_, s := open(t, Options{Path: tempFile(t), Clock: now.Load, Lock: lock})
			take := func(key string) int64 {
				section, err := s.Acquire(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				if err := section.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				return section.Fence().Fence
			}
			if first := take("groups"); first != now.Load() {
				t.Errorf("the first fence is %d at %d", first, now.Load())
			}
			highest := map[string]int64{}
			for i := range 30 {
				key := fmt.Sprintf("request:%d", i)
				for range 3 {
					highest[key] = take(key)
				}
			}
			now.Add(keepIdle + 1)
			for range 10 {
				take("groups")
			}
			if n := rowsIn(t, s, relational.LockTable); n != 2 { // groups and the floor
				t.Errorf("%d lock rows are kept", n)
			}
			now.Store(5) // the clock was set back by far
			for key, before := range highest {
				if fence := take(key); fence <= before {
					t.Errorf("the fence of %s is %d after %d", key, fence, before)
				}
			}
		})
	}
}

func TestASectionWithinOneProcessWaitsForTheLeaseThatAnotherLeft(t *testing.T) {
	var now atomic.Int64
	now.Store(1_000_000_000)
	_, s := open(t, Options{Path: tempFile(t), Clock: now.Load, Lock: LockNone})
	err := s.write(t.Context(), func(w *work) error {
		_, _, err := takeLock(w, s.app, "groups", "another", now.Load(), now.Load()+10_000, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if section, err := s.Acquire(ctx, "groups"); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Fatalf("got %v, %v", section, err)
	}
	time.AfterFunc(50*time.Millisecond, func() { now.Add(10_000) })
	section, err := s.Acquire(t.Context(), "groups")
	if err != nil {
		t.Fatal(err)
	}
	if fence := section.Fence().Fence; fence != 1_000_000_001 {
		t.Errorf("the fence is %d", fence)
	}
}

func TestAListHoldsNothingWhileItsConsumerIsSlow(t *testing.T) {
	_, s := open(t, Options{Path: tempFile(t), Readers: 1})
	c := storage.Commit{ID: "many"}
	for i := range 2500 {
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("g%05d", i), Provenance: authz.AdminProvenance("root")}})
	}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, err := range s.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		if rows++; rows%700 == 0 { // the only reader is free, and so is the log's end
			if _, err := s.Head(t.Context()); err != nil {
				t.Fatal(err)
			}
			var busy, logged, moved int
			err := s.db.writeOutside(t, func(w *work) error {
				_, err := w.one("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &logged, &moved)
				return err
			})
			if err != nil || busy != 0 {
				t.Fatalf("a transaction is open: busy %d, %v", busy, err)
			}
		}
	}
	if rows != 2500 {
		t.Errorf("%d rows", rows)
	}
}

func TestAChunkIsBoundedByItsBytes(t *testing.T) {
	_, s := open(t, Options{Path: tempFile(t)})
	data := `"` + strings.Repeat("x", 900_000) + `"`
	for i := range 12 {
		_, err := s.Commit(t.Context(), storage.Commit{ID: fmt.Sprint(i), Changes: []storage.Change{
			storage.PutRecord{Record: storage.Record{Collection: "c", ID: fmt.Sprintf("%03d", i), Data: []byte(data)}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	q := s.selecting(records.columns, relational.RecordTable, "")
	q.page(`"id"`, chunkRows)
	rows, more, err := readChunk(t.Context(), s, q, records.Scan)
	if err != nil || !more || len(rows) != 2 {
		t.Fatalf("a chunk of %d rows, more %v, %v", len(rows), more, err)
	}
	all := 0
	for row, err := range s.ListRecords(t.Context(), "c", storage.RecordFilter{}, storage.Page{}) {
		if err != nil || row.ID != fmt.Sprintf("%03d", all) || len(row.Data) != len(data) {
			t.Fatalf("row %d: %s, %v", all, row.ID, err)
		}
		all++
	}
	if all != 12 {
		t.Errorf("%d records", all)
	}
}
