package mongo

import (
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestI28EveryStatementCarriesThePartition(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		var sent commands
		d.adjust = sent.listen
		s := d.open(t)
		sent.take() // opening looks for the other layout
		busy(t, s)
		everyRead(t, s)
		if err := s.partition.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.PruneEvents(t.Context(), storage.PruneEvents{KeepRows: new(int64)}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, c := range sent.take() {
			first, _ := c.IndexErr(0)
			name, collection := first.Key(), ""
			collection, _ = first.Value().StringValueOK()
			switch name {
			case "hello", "ping", "endSessions", "killCursors", "getMore", "listIndexes", "createIndexes":
				continue
			}
			seen[name] = true
			if d.layout == layout.Collections {
				if !strings.HasPrefix(collection, "app_") {
					t.Errorf("%s on %s", name, collection)
				}
				continue
			}
			for _, part := range filters(c) {
				if !carries(part) {
					t.Errorf("%s on %s: %v", name, collection, part)
				}
			}
		}
		for _, name := range []string{"find", "insert", "update", "delete", "findAndModify", "aggregate"} {
			if !seen[name] {
				t.Errorf("no %s was seen", name)
			}
		}
	})
}

// filters are the parts of a command that must name the partition.
func filters(c bson.Raw) []bson.Raw {
	var out []bson.Raw
	for _, path := range [][]string{{"filter"}, {"query"}} {
		if v, ok := c.Lookup(path...).DocumentOK(); ok {
			out = append(out, v)
		}
	}
	list := func(name string, inner ...string) {
		array, ok := c.Lookup(name).ArrayOK()
		if !ok {
			return
		}
		values, _ := array.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			if len(inner) > 0 {
				doc, _ = doc.Lookup(inner...).DocumentOK()
			}
			if doc != nil {
				out = append(out, doc)
			}
		}
	}
	list("documents")
	list("updates", "q")
	list("deletes", "q")
	if stages, ok := c.Lookup("pipeline").ArrayOK(); ok {
		values, _ := stages.Values()
		doc, _ := values[0].Document().Lookup("$match").DocumentOK()
		out = append(out, doc)
	}
	return out
}

func carries(part bson.Raw) bool {
	if app, ok := part.Lookup("app").StringValueOK(); ok && app == "app" {
		return true
	}
	if app, ok := part.Lookup("_id", "app").StringValueOK(); ok && app == "app" {
		return true
	}
	ids, ok := part.Lookup("_id", "$in").ArrayOK()
	if !ok {
		return false
	}
	values, _ := ids.Values()
	for _, id := range values {
		if app, ok := id.Document().Lookup("app").StringValueOK(); !ok || app != "app" {
			return false
		}
	}
	return true
}

func everyRead(t *testing.T, s *store) {
	t.Helper()
	ctx, text, yes := t.Context(), "x", true
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	_, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u", Expand: true})
	note(err)
	_, err = s.GetRoles(ctx, []string{"role", "b"})
	note(err)
	_, err = s.GetScopeParents(ctx, []string{"s", "t"})
	note(err)
	_, err = s.EventsSince(ctx, authz.Position{}, 5)
	note(err)
	_, err = s.CountGrants(ctx, storage.GrantFilter{Subjects: []string{"user:u", "x"}})
	note(err)
	_, _, err = s.GetRecord(ctx, "c", "i")
	note(err)
	_, _, err = s.GetCommit(ctx, "c")
	note(err)
	_, _, err = s.GetImports(ctx)
	note(err)
	for _, err := range s.ListGrants(ctx, storage.GrantFilter{Scope: &text, RoleID: &text}, storage.Page{After: "a"}) {
		note(err)
	}
	for _, err := range s.ListRevokes(ctx, storage.RevokeFilter{UserID: &text}, storage.Page{}) {
		note(err)
	}
	for _, err := range s.ListUsers(ctx, storage.UserFilter{HasManager: &yes}, storage.Page{}) {
		note(err)
	}
	for _, err := range s.ListUsersInGroup(ctx, "g", storage.Page{}) {
		note(err)
	}
	for _, err := range s.ListGroups(ctx, storage.Page{}) {
		note(err)
	}
	for _, kind := range storage.EdgeKinds {
		for _, err := range s.ListEdges(ctx, kind, []string{"a", "g", "u"}, storage.EdgePage{AfterOf: "a", AfterFrom: "b"}) {
			note(err)
		}
	}
	for _, err := range s.ListGrantsAt(ctx, []string{"*", "x"}, storage.GrantsAtPage{AfterScope: "*", AfterSubject: "user:a", AfterID: "a"}) {
		note(err)
	}
	for _, err := range s.ListScopes(ctx, storage.Page{}) {
		note(err)
	}
	_, err = s.ReadPeople(ctx, storage.PeopleQuery{UserIDs: []string{"u", "v"}, Scopes: []string{"*"}})
	note(err)
	for _, err := range s.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{AfterID: "a"}) {
		note(err)
	}
	for _, f := range []storage.RecordFilter{{}, {Index: 1, Value: "v"}} {
		for _, err := range s.ListRecords(ctx, "c", f, storage.Page{}) {
			note(err)
		}
	}
	for _, limit := range []int64{1, 1000} {
		for _, err := range s.ListAudit(ctx, storage.AuditFilter{Subject: &text, Limit: &limit}) {
			note(err)
		}
		for _, err := range s.ListAudit(ctx, storage.AuditFilter{Limit: &limit}) {
			note(err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
