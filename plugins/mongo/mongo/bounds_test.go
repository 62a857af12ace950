package mongo

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/storage"
)

func TestALongListIsReadInChunksOfAMegabyte(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		const rows, size = 24, 100 << 10
		var sent commands
		d.adjust = sent.listen
		s := d.open(t)
		c := storage.Commit{ID: "c"}
		data := []byte(`"` + strings.Repeat("x", size) + `"`)
		for i := range rows {
			c.Changes = append(c.Changes, storage.PutRecord{Record: storage.Record{Collection: "c", ID: fmt.Sprintf("%02d", i), Data: data}})
		}
		mustCommit(t, s, c)
		sent.take()
		n := 0
		for row, err := range s.ListRecords(t.Context(), "c", storage.RecordFilter{}, storage.Page{}) {
			if err != nil {
				t.Fatal(err)
			}
			if row.ID != fmt.Sprintf("%02d", n) {
				t.Fatalf("row %d is %s", n, row.ID)
			}
			n++
		}
		queries := 0
		for _, command := range sent.take() {
			if collection, _ := command.Lookup("find").StringValueOK(); strings.HasSuffix(collection, string(layout.Records)) {
				queries++
			}
		}
		if n != rows || queries < rows*size/chunkBytes {
			t.Errorf("%d rows by %d queries", n, queries)
		}
	})
}

func TestACommitLoadsNoMoreThanItsShare(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		s := d.open(t)
		mustCommit(t, s, base())
		mustCommit(t, s, sample("c"))
		for _, left := range []int64{0, 1, 300, maxLoaded} {
			wanted := cellsOf(grants)
			wanted.want("new-1")
			wanted.want("new-2")
			var loaded atomic.Int64
			loaded.Store(maxLoaded - left)
			err := wanted.load(t.Context(), s.partition, &loaded)
			if left == maxLoaded && err != nil || left < maxLoaded && storage.CodeOf(err) != storage.CodeTooLarge {
				t.Errorf("with %d bytes left: %v", left, err)
			}
			if read := loaded.Load() - (maxLoaded - left); left < maxLoaded && read > 400 {
				t.Errorf("with %d bytes left, %d were read", left, read)
			}
		}
	})
}
