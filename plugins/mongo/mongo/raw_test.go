package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func readBack(t *testing.T, members bson.D) storage.CommitResult {
	t.Helper()
	raw, err := bson.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	var d commitDoc
	if err := bson.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	r, err := d.result()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// commands is what a client sent.
type commands struct {
	mu  sync.Mutex
	all []bson.Raw
}

func (c *commands) listen(o *options.ClientOptions) {
	o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, bson.Raw(append([]byte(nil), e.Command...)))
	}})
}

func (c *commands) take() []bson.Raw {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func TestD01BadValuesNeverReachTheDatabase(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		var sent commands
		d.adjust = sent.listen
		s := d.open(t)
		s.partition.stop() // its looks at the turn are no queries of these calls
		time.Sleep(50 * time.Millisecond)
		sent.take()
		ctx := t.Context()
		for _, bad := range []string{"a\x00b", "\xff"} {
			first := func(name string, list func(yield func(any, error) bool)) {
				list(func(_ any, err error) bool {
					if storage.CodeOf(err) != storage.CodeValidation {
						t.Errorf("%s: %v", name, err)
					}
					return false
				})
			}
			errs := map[string]error{}
			_, _, errs["getGrant"] = s.GetGrant(ctx, bad)
			_, _, errs["getUser"] = s.GetUser(ctx, bad)
			_, _, errs["getRecord"] = s.GetRecord(ctx, bad, "x")
			_, errs["count"] = s.CountGrants(ctx, storage.GrantFilter{Subject: &bad})
			_, errs["getRoles"] = s.GetRoles(ctx, []string{bad})
			_, errs["parents"] = s.GetScopeParents(ctx, []string{bad})
			_, errs["readAccess"] = s.ReadAccess(ctx, storage.AccessQuery{UserID: "u", Subjects: []string{bad}})
			_, _, errs["getCommit"] = s.GetCommit(ctx, bad)
			_, errs["acquire"] = s.Acquire(ctx, bad)
			_, errs["commit"] = s.Commit(ctx, storage.Commit{ID: "c", Changes: []storage.Change{storage.InsertGrant{Grant: grant(bad)}}})
			for name, err := range errs {
				if storage.CodeOf(err) != storage.CodeValidation {
					t.Errorf("%s: %v", name, err)
				}
			}
			first("listGrants", func(y func(any, error) bool) {
				for g, err := range s.ListGrants(ctx, storage.GrantFilter{Scope: &bad}, storage.Page{}) {
					y(g, err)
				}
			})
			first("listAudit", func(y func(any, error) bool) {
				for g, err := range s.ListAudit(ctx, storage.AuditFilter{Actor: &bad}) {
					y(g, err)
				}
			})
		}
		if got := sent.take(); len(got) > 0 {
			t.Fatalf("%d commands were sent, the first %v", len(got), got[0])
		}
	})
}

func TestD02OperatorsInValuesAreOrdinaryData(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		s := d.open(t)
		data := `{"$set":{"a.b":1},"$where":"x","a.b":null}`
		g := grant("$ne")
		g.Subject, g.Scope = "$where", "a.b"
		mustCommit(t, s, storage.Commit{ID: "$id", Changes: []storage.Change{
			storage.InsertGrant{Grant: g}, storage.InsertGrant{Grant: grant("other")},
			storage.PutRecord{Record: storage.Record{Collection: "$a/b.c", ID: "$x/y", Data: []byte(data), Keys: [4]string{"$gt"}}},
			storage.PutRecord{Record: storage.Record{Collection: "$a", ID: "b.c/$x/y", Data: []byte(`1`)}}}})
		got, found, err := s.GetGrant(t.Context(), "$ne")
		if err != nil || !found || got != g {
			t.Fatalf("%+v, %v, %v", got, found, err)
		}
		if n, err := s.CountGrants(t.Context(), storage.GrantFilter{Subject: &g.Subject}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		r, found, err := s.GetRecord(t.Context(), "$a/b.c", "$x/y")
		if err != nil || !found || string(r.Data) != data || r.Version != 1 {
			t.Fatalf("%+v, %v, %v", r, found, err)
		}
		n := 0
		for _, err := range s.ListRecords(t.Context(), "$a", storage.RecordFilter{}, storage.Page{}) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != 1 {
			t.Fatalf("%d records of a collection that has one", n)
		}
	})
}

// documents are all of a database, by collection.
func (d *database) documents(t *testing.T) map[string][]bson.D {
	t.Helper()
	all := map[string][]bson.D{}
	err := d.raw(func(ctx context.Context, db *mongodriver.Database) error {
		names, err := db.ListCollectionNames(ctx, bson.D{})
		for _, name := range names {
			var docs []bson.D
			cursor, err := db.Collection(name).Find(ctx, bson.D{})
			if err == nil {
				err = cursor.All(ctx, &docs)
			}
			if err != nil {
				return err
			}
			all[name] = docs
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func member(d bson.D, name string) (any, bool) {
	for _, e := range d {
		if e.Key == name {
			return e.Value, true
		}
	}
	return nil, false
}

func busy(t *testing.T, s *store) {
	t.Helper()
	mustCommit(t, s, base())
	mustCommit(t, s, sample("c"))
	section, err := s.Acquire(t.Context(), "request:1")
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, storage.Commit{ID: "d", Fences: []storage.Fence{section.Fence()}, Changes: []storage.Change{
		storage.PutRecord{Record: storage.Record{Collection: "c", ID: "i", Data: []byte("1")}}, storage.PutScopeParents{Scope: "s"},
		storage.UpsertGroup{Group: authz.Group{ID: "g"}}, storage.PutImports{Version: 1, Manifest: []byte("{}")},
		storage.InsertRequest{Request: authz.Request{ID: "r", RequesterUserID: "u", Scope: "*", State: authz.RequestPending}}}})
	if err := section.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestD03RowsCarryThePartitionFirst(t *testing.T) {
	needServer(t)
	d := freshDatabase(layout.Rows)
	defer d.Close()
	busy(t, d.open(t))
	for name, docs := range d.documents(t) {
		for _, doc := range docs {
			id, _ := doc[0].Value.(bson.D)
			if v, ok := member(doc, "_id"); ok {
				id, _ = v.(bson.D)
			}
			app, _ := member(doc, "app")
			if len(id) != 2 || id[0].Key != "app" || id[1].Key != "id" || id[0].Value != "app" || app != "app" {
				t.Errorf("%s: %v", name, doc)
			}
		}
	}
}

func TestD04LayoutsDoNotMix(t *testing.T) {
	needServer(t)
	for _, kind := range layouts {
		d, other := freshDatabase(kind), layout.Rows
		defer d.Close()
		if kind == layout.Rows {
			other = layout.Collections
		}
		d.open(t)
		d.layout = other
		made, err := d.connect()
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
		for _, partition := range []string{"app", "b"} {
			if _, err := made.Open(t.Context(), partition); storage.CodeOf(err) != storage.CodeConflict {
				t.Errorf("%s opened as %s: %v", kind, other, err)
			}
		}
	}
	d := freshDatabase(layout.Rows)
	defer d.Close()
	made, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if _, err := made.Open(t.Context(), ""); storage.CodeOf(err) != storage.CodeValidation {
		t.Errorf("rows without a partition: %v", err)
	}
	// A deployment from before there were markers is one in collections.
	err = d.raw(func(ctx context.Context, db *mongodriver.Database) error {
		_, err := db.Collection("old_grants").InsertOne(ctx, bson.D{{Key: "_id", Value: "g"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.Open(t.Context(), "app"); storage.CodeOf(err) != storage.CodeConflict {
		t.Errorf("rows beside collections without a marker: %v", err)
	}
}

func TestD11CollectionsCarryNoDiscriminatorAndTakeOldData(t *testing.T) {
	needServer(t)
	d := freshDatabase(layout.Collections)
	defer d.Close()
	err := d.raw(func(ctx context.Context, db *mongodriver.Database) error {
		_, err1 := db.Collection("app_grants").InsertOne(ctx, bson.D{{Key: "_id", Value: "old-1"}, {Key: "subject", Value: "user:u"}, {Key: "pattern", Value: "docs.read"},
			{Key: "scope", Value: "*"}, {Key: "provenance", Value: `{"kind":"admin","actorUserId":"a"}`}, {Key: "createdAt", Value: float64(1)}})
		_, err2 := db.Collection("app_users").InsertOne(ctx, bson.D{{Key: "_id", Value: "u"}, {Key: "active", Value: true}, {Key: "groupIds", Value: bson.A{"g"}},
			{Key: "orgIds", Value: bson.A{}}, {Key: "managerUserId", Value: nil}})
		_, err3 := db.Collection("app_epoch").InsertOne(ctx, bson.D{{Key: "_id", Value: int32(1)}, {Key: "seq", Value: int32(4)}, {Key: "prunedThrough", Value: int32(4)}})
		return errors.Join(err1, err2, err3)
	})
	if err != nil {
		t.Fatal(err)
	}
	s := d.open(t)
	if g, found, err := s.GetGrant(t.Context(), "old-1"); err != nil || !found || g != grant("old-1") {
		t.Fatalf("%+v, %v, %v", g, found, err)
	}
	r := mustCommit(t, s, storage.Commit{ID: "c", Changes: []storage.Change{storage.DeleteGrant{ID: "old-1", MustExist: true},
		storage.PatchUser{UserID: "u", OrgIDs: &[]string{"o"}}, storage.InsertGrant{Grant: grant("new")}}, Events: []authz.Event{authz.UserEvent("u")}})
	u, _, err := s.GetUser(t.Context(), "u")
	if err != nil || r.UpTo.Seq != 5 || len(u.GroupIDs) != 1 || len(u.OrgIDs) != 1 {
		t.Fatalf("%+v, %+v, %v", r, u, err)
	}
	for name, docs := range d.documents(t) {
		if !strings.HasPrefix(name, "app_") {
			t.Errorf("collection %s", name)
		}
		for _, doc := range docs {
			if _, has := member(doc, "app"); has {
				t.Errorf("%s: %v", name, doc)
			}
			if id, _ := member(doc, "_id"); fmt.Sprintf("%T", id) == "bson.D" {
				t.Errorf("%s: %v", name, doc)
			}
		}
	}
}

func TestE09AMissingEventEndsThePage(t *testing.T) {
	needServer(t)
	d := freshDatabase(layout.Collections)
	defer d.Close()
	s := d.open(t)
	mustCommit(t, s, base())
	mustCommit(t, s, sample("c"))
	err := d.raw(func(ctx context.Context, db *mongodriver.Database) error {
		_, err := db.Collection("app_events").DeleteOne(ctx, bson.D{{Key: "_id", Value: int64(2)}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := s.EventsSince(t.Context(), authz.Position{}, 10); err != nil || page.UpTo.Seq != 1 || len(page.Events) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
}
