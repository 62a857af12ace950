package kv_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
	"github.com/authzhost/authz/sdk/storage/kv"
)

// counting is a DB that counts what it is asked.
type counting struct {
	*memory
	views, reads int
}

func (c *counting) View(ctx context.Context, read func(kv.Tx) error) error {
	c.views++
	return c.memory.View(ctx, func(tx kv.Tx) error { return read(countingTx{tx, c}) })
}

func (c *counting) Update(ctx context.Context, change func(kv.Tx) error) error {
	return c.memory.Update(ctx, func(tx kv.Tx) error { return change(countingTx{tx, c}) })
}

type countingTx struct {
	kv.Tx
	c *counting
}

func (t countingTx) Get(key []byte) ([]byte, error) {
	t.c.reads++
	return t.Tx.Get(key)
}

func (t countingTx) Scan(from []byte, each func([]byte) bool) error {
	return t.Tx.Scan(from, func(key []byte) bool {
		t.c.reads++
		return each(key)
	})
}

func countingStore(t *testing.T) (*counting, storage.Store) {
	t.Helper()
	c := &counting{memory: newMemory()}
	s, err := kv.New(c, kv.Options{Name: "counting"}).Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func write(t *testing.T, s storage.Store, c storage.Commit) {
	t.Helper()
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestAChunkIsBoundedByItsBytes(t *testing.T) {
	c, s := countingStore(t)
	data := []byte(`"` + strings.Repeat("x", 900_000) + `"`)
	for i := range 12 {
		write(t, s, storage.Commit{ID: fmt.Sprint(i), Changes: []storage.Change{
			storage.PutRecord{Record: storage.Record{Collection: "c", ID: fmt.Sprintf("%03d", i), Data: data}}}})
	}
	for _, limit := range []int{0, 5} {
		c.views = 0
		n := 0
		for row, err := range s.ListRecords(t.Context(), "c", storage.RecordFilter{}, storage.Page{Limit: limit}) {
			if err != nil || row.ID != fmt.Sprintf("%03d", n) || len(row.Data) != len(data) {
				t.Fatalf("row %d: %s, %v", n, row.ID, err)
			}
			if n++; c.views != (n+1)/2 { // two rows reach a chunk's bytes
				t.Errorf("limit %d: row %d came from chunk %d", limit, n, c.views)
			}
		}
		if want := map[int]int{0: 12, 5: 5}[limit]; n != want {
			t.Errorf("limit %d: %d rows", limit, n)
		}
	}
}

func TestARecordFilterWithoutAnIndexSelectsAll(t *testing.T) {
	_, s := countingStore(t)
	write(t, s, storage.Commit{ID: "c", Changes: []storage.Change{
		storage.PutRecord{Record: storage.Record{Collection: "c", ID: "r", Data: []byte(`{}`)}}}})
	n := 0
	for _, err := range s.ListRecords(t.Context(), "c", storage.RecordFilter{Value: "x"}, storage.Page{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestNothingIsReadThatDecidesNothing(t *testing.T) {
	c, s := countingStore(t)
	const many, few = 500, 50
	filling := storage.Commit{ID: "filling"}
	for i := range many {
		filling.Changes = append(filling.Changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprint(i), RoleID: "r"}})
		filling.Events = append(filling.Events, authz.RoleEvent("r"))
	}
	write(t, s, filling)
	c.reads = 0
	write(t, s, storage.Commit{ID: "delete", Changes: []storage.Change{storage.DeleteRole{ID: "r"}}})
	if c.reads > few {
		t.Errorf("%d reads to delete a role that may be named", c.reads)
	}
	c.reads = 0
	if n, err := s.PruneEvents(t.Context(), storage.PruneEvents{KeepRows: new(int64(many - 5))}); n != 5 || err != nil {
		t.Errorf("%d events pruned, %v", n, err)
	}
	if c.reads > few {
		t.Errorf("%d reads to prune five events", c.reads)
	}
}
