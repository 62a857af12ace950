package kv_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
	"github.com/authzhost/authz/sdk/storage/kv"
)

const life = "/p/head/life"

// laterEntries are those that the drivers of older layouts did not write.
var laterEntries = map[int64][]string{
	1: {"/p/grant.at/", "/p/user.org/", "/p/user.manager/", "/p/scope.parent/", "/p/request.requester/", "/p/grant.made/", "/p/grant.ends/", "/p/grant.madeIn/", "/p/audit.about/", "/p/audit.about.back/"},
	2: {"/p/request.requester/", "/p/grant.made/", "/p/grant.ends/", "/p/grant.madeIn/", "/p/audit.about/", "/p/audit.about.back/"},
	4: {"/p/grant.madeIn/", "/p/audit.about/", "/p/audit.about.back/"},
	3: {"/p/grant.made/", "/p/grant.ends/", "/p/grant.madeIn/", "/p/audit.about/", "/p/audit.about.back/"},
}

// older makes of a partition what the driver of an older layout left.
func (m *memory) older(t *testing.T, layout int64) {
	t.Helper()
	for key := range m.rows {
		for _, later := range laterEntries[layout] {
			if strings.HasPrefix(key, later) {
				m.set(key, nil)
			}
		}
	}
	m.lived(t, layout)
	m.sort()
}

func (m *memory) lived(t *testing.T, layout int64) {
	t.Helper()
	var head struct {
		Name, Text string
		Version    int64
	}
	if err := json.Unmarshal(m.rows[life], &head); err != nil {
		t.Fatal(err)
	}
	head.Version = layout
	raw, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	m.rows[life] = raw
}

// dying is a database whose process ends before an update, and is started again.
type dying struct {
	*memory
	left int
}

var errKilled = errors.New("killed")

func (d *dying) Update(ctx context.Context, change func(kv.Tx) error) error {
	if d.left == 0 {
		return errKilled
	}
	d.left--
	return d.memory.Update(ctx, change)
}

// edges are all that lookups read.
func edges(t *testing.T, s storage.Store) (all []string) {
	t.Helper()
	of := map[storage.EdgeKind][]string{storage.EdgeOrg: {"o1", "o2"}, storage.EdgeManager: {"u0001", "nobody"}, storage.EdgeParent: {"t.folder:0", "t.folder:1"}, storage.EdgeGroup: {"g"}}
	for _, kind := range storage.EdgeKinds {
		for e, err := range s.ListEdges(t.Context(), kind, of[kind], storage.EdgePage{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprint(kind, e))
		}
	}
	for g, err := range s.ListGrantsAt(t.Context(), []string{"*", "t.folder:1"}, storage.GrantsAtPage{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, "grant "+g.ID)
	}
	for _, q := range []authz.GrantSearch{{Order: authz.GrantsNewest}, {Order: authz.GrantsExpiring}, {Order: authz.GrantsNewest, Instances: true}} {
		for g, err := range s.FindGrants(t.Context(), q, storage.FoundPage{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprint(q.Order, q.Instances, g.ID))
		}
	}
	for _, limit := range []*int64{nil, new(int64(100))} {
		for e, err := range s.ListAudit(t.Context(), storage.AuditFilter{Subject: new("group:g1"), Limit: limit}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, "about "+e.ID)
		}
	}
	for id, err := range s.ListUserIDs(t.Context(), "", storage.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, "user "+id)
	}
	return all
}

// A partition of an older layout gets its entries in pieces, whenever the process ends;
// nothing else of it changes. One whose migration to layout 2 did not end gets them too.
func TestALayoutOfOldIsMigrated(t *testing.T) {
	for name, old := range map[string]func(*memory){
		"layout 1": func(m *memory) { m.older(t, 1) },
		"layout 2": func(m *memory) { m.older(t, 2) },
		"layout 3": func(m *memory) { m.older(t, 3) },
		"layout 4": func(m *memory) { m.older(t, 4) },
		"layout 3 on its way to 4": func(m *memory) {
			m.older(t, 3)
			m.lived(t, 4)
			m.set("/p/head/migrating", []byte(`{"Name":"migrating","Version":4,"Text":"g0999"}`))
			m.sort()
		},
		"layout 1 on its way to 2": func(m *memory) {
			m.older(t, 1)
			m.lived(t, 2)
			m.set("/p/head/migrating", []byte(`{"Name":"migrating","Version":0}`))
			m.sort()
		},
	} {
		t.Run(name, func(t *testing.T) { migrates(t, old) })
	}
}

func migrates(t *testing.T, old func(*memory)) {
	db := newMemory()
	store := openPartition(t, db)
	for from := 0; from < 2500; from += 500 {
		commit := storage.Commit{ID: fmt.Sprint("c", from)}
		for i := from; i < from+500; i++ {
			user := fmt.Sprintf("u%04d", i)
			commit.Changes = append(commit.Changes,
				storage.UpsertUser{User: authz.User{UserID: user, Active: true, GroupIDs: []string{"g"}, OrgIDs: []string{fmt.Sprint("o", i%3)}, ManagerUserID: "u0001"}},
				storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("g%04d", i), Subject: "user:" + user, Pattern: "a.b", Scope: []string{"*", "t.folder:1", "t.doc:2"}[i%3], Provenance: authz.AdminProvenance("root"),
					CreatedAt: int64(i % 7), ExpiresAt: authz.ExpiresAt(int64(i % 5))}},
				storage.PutScopeParents{Scope: fmt.Sprintf("t.doc:%d", i), Parents: []string{fmt.Sprintf("t.folder:%d", i%2)}},
				storage.InsertRequest{Request: authz.Request{ID: fmt.Sprintf("q%04d", i), RequesterUserID: "asked." + user, Pattern: "a.b", Scope: "*", State: authz.RequestPending}})
		}
		for i := from; i < from+500; i++ {
			commit.Audit = append(commit.Audit, authz.AuditEntry{ID: fmt.Sprintf("a%04d", i), At: int64(i / 3), Actor: "root", Action: "user.set_groups", Target: fmt.Sprintf("u%04d", i),
				Detail: json.RawMessage(fmt.Sprintf(`{"groupIds":["g%d"]}`, i%4))})
		}
		if _, err := store.Commit(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	want, rows := edges(t, store), map[string][]byte{}
	for key, value := range db.rows {
		rows[key] = value
	}
	if len(want) < 8000 {
		t.Fatalf("%d edges", len(want))
	}
	old(db)
	opens := 0
	for killed := true; killed; opens++ {
		d := kv.New(&dying{db, 2}, kv.Options{Name: "memory"})
		store, err := d.Open(t.Context(), "p")
		if killed = err != nil; killed {
			if storage.CodeOf(err) != storage.CodeUnavailable {
				t.Fatal(err)
			}
			continue
		}
		if got := edges(t, store); !slices.Equal(got, want) {
			t.Errorf("%d edges after the migration, %d before", len(got), len(want))
		}
	}
	if opens < 2 {
		t.Errorf("it was done in %d openings", opens)
	}
	for key, value := range rows {
		if !bytes.Equal(db.rows[key], value) {
			t.Fatalf("%q was %s and is %s", key, value, db.rows[key])
		}
	}
	if len(db.rows) != len(rows) {
		t.Errorf("%d rows, %d before", len(db.rows), len(rows))
	}
	db.lived(t, 6)
	if _, err := kv.New(db, kv.Options{Name: "memory"}).Open(t.Context(), "p"); storage.CodeOf(err) != storage.CodeUnsupported {
		t.Errorf("a newer layout: %v", err)
	}
}

func openPartition(t *testing.T, db kv.DB) storage.Store {
	t.Helper()
	store, err := kv.New(db, kv.Options{Name: "memory"}).Open(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	return store
}
