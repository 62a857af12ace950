package mongo

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestSweepForgetsWhatIsADayOld(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		s := d.open(t)
		busy(t, s)
		p := s.partition
		count := func(name layout.Name, members ...bson.E) int64 {
			n, err := p.in(name).Count(t.Context(), p.in(name).Where(members...))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		sweep := func() {
			if err := p.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		gone := eq("gone", true)
		sweep()
		if count(layout.Grants, gone) != 1 || count(layout.Commits) != 3 || count(layout.Locks) != 2 {
			t.Fatal("something was swept too early")
		}
		clock := p.clock
		clock.mu.Lock()
		clock.asked, clock.ms = time.Now(), clock.ms+keepFor.Milliseconds()+60_000
		clock.mu.Unlock()
		sweep()
		if count(layout.Grants, gone) != 0 || count(layout.Commits) != 0 || count(layout.Locks) != 1 || count(layout.Journal) != 0 {
			t.Fatalf("%d stones, %d commits, %d locks, %d journals", count(layout.Grants, gone), count(layout.Commits), count(layout.Locks), count(layout.Journal))
		}
		if _, found, err := s.GetGrant(t.Context(), "new-1"); !found || err != nil {
			t.Fatal("a row was swept", err)
		}
	})
}

func TestASweepThatWaitsDelaysNoRescue(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		sweeping, goOn := make(chan struct{}, 1), make(chan struct{})
		defer close(goOn)
		witness := d.openAs(t, func(w *driver) {
			w.sweepEvery = time.Millisecond
			w.pause = func(step string) error {
				if step == "take" { // only its sweeps take the turn
					select {
					case sweeping <- struct{}{}:
					default:
					}
					<-goOn
				}
				return nil
			}
		})
		first := d.open(t)
		mustCommit(t, first, base())
		<-sweeping
		writer := d.openAs(t, stopAt("apply", 1))
		first.partition.stop() // nobody but the witness is to look
		writer.partition.stop()
		if _, err := writer.Commit(t.Context(), sample("c")); err == nil {
			t.Fatal("the writer was not stopped")
		}
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if head, err := witness.Head(t.Context()); err != nil || head.Seq == 3 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if time.Now().After(until) {
				t.Fatal("the commit stays half way")
			}
		}
	})
}

func TestStonesHoldNothingOfTheRow(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		s := d.open(t)
		at := int64(5)
		mustCommit(t, s, storage.Commit{ID: "full", Changes: []storage.Change{
			storage.InsertGrant{Grant: authz.Grant{ID: "x", Subject: "user:u", RoleID: "r", Pattern: "p", Scope: "*", ExpiresAt: authz.ExpiresAt(9)}},
			storage.InsertRevoke{Revoke: authz.Revoke{ID: "x", UserID: "u", Pattern: "p", Scope: "*"}},
			storage.UpsertRole{Role: authz.Role{ID: "x", Name: "n", Description: "d", Patterns: []string{"p"}, Requestable: &authz.Requestable{}}},
			storage.UpsertGroup{Group: authz.Group{ID: "x", Name: "n", Description: "d", Virtual: true, Parents: []string{"y"}}},
			storage.UpsertUser{User: authz.User{UserID: "x", Active: true, GroupIDs: []string{"g"}, OrgIDs: []string{"o"}, ManagerUserID: "m"}},
			storage.InsertRequest{Request: authz.Request{ID: "x", RequesterUserID: "u", RoleID: "r", Pattern: "p", Scope: "*", ProposedExpiresAt: authz.ExpiresAt(9),
				Justification: map[string]string{"a": "b"}, State: authz.RequestPending, DecidedAt: &at}},
			storage.PutScopeParents{Scope: "x", Parents: []string{"y"}},
			storage.PutRecord{Record: storage.Record{Collection: "x", ID: "x", Data: []byte("1"), Keys: [4]string{"a", "b", "c", "d"}}}}})
		mustCommit(t, s, storage.Commit{ID: "none", Changes: []storage.Change{
			storage.DeleteGrant{ID: "x"}, storage.DeleteRevoke{ID: "x"}, storage.DeleteRole{ID: "x"}, storage.DeleteGroup{ID: "x"}, storage.DeleteUser{UserID: "x"},
			storage.DeleteRequest{ID: "x"}, storage.DeleteScopeParents{Scope: "x"}, storage.DeleteRecord{Collection: "x", ID: "x", Expect: 1}}})
		stones := 0
		for name, docs := range d.documents(t) {
			for _, doc := range docs {
				if gone, _ := member(doc, "gone"); gone != true {
					continue
				}
				stones++
				for _, e := range doc {
					if !slices.Contains([]string{"_id", "app", "t", "gone", "at"}, e.Key) {
						t.Errorf("a stone in %s still has %s", name, e.Key)
					}
				}
			}
		}
		if stones != len(withStones) {
			t.Errorf("%d stones, want %d", stones, len(withStones))
		}
	})
}
