package mongo

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
)

const tenYears = 10 * 365 * 24 * time.Hour

// A writer died with the turn, and its clock ran ahead.
func TestATurnWhoseLeaseEndsYearsAheadBlocksNoCommit(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		witness := d.openAs(t, func(w *driver) { w.turnLease = shortTurn })
		mustCommit(t, witness, base())
		locks := witness.partition.in(layout.Locks)
		held, err := locks.Update(t.Context(), locks.Key(turnKey), set(bson.E{Key: "holder", Value: "dead"}, bson.E{Key: "expiresAt", Value: time.Now().Add(tenYears).UnixMilli()}))
		if err != nil || !held {
			t.Fatal(held, err)
		}
		mustCommit(t, witness, sample("c"))
		if got := extent(t, witness); got != "all" {
			t.Error(got)
		}
	})
}

// What it had decided is finished also while nobody writes.
func TestACommitDecidedUnderALeaseThatEndsYearsAheadIsFinished(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		mustCommit(t, d.open(t), base())
		witness := d.open(t)
		writer := d.openAs(t, func(w *driver) { stopAt("apply", 1)(w); w.turnLease = turnLease })
		writer.partition.stop()
		if _, err := writer.Commit(t.Context(), sample("c")); err == nil {
			t.Fatal("the writer was not stopped")
		}
		if err := d.Postpone(t.Context(), witness.Info().Partition, turnKey, tenYears); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if head, err := witness.Head(t.Context()); err != nil {
				t.Fatal(err)
			} else if head.Seq == 3 {
				break
			}
			if time.Now().After(until) {
				t.Fatal("the event stays missing")
			}
		}
		if got := extent(t, witness); got != "all" {
			t.Fatal(got)
		}
	})
}
