package postgres_test

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/plugins/internal/relational/relationaltest"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

//go:embed testdata/version1.sql
var version1 string

func TestADatabaseOfVersion1IsRefusedUntilItIsMigrated(t *testing.T) { // R01
	dsn := postgrestest.Database(t)
	sql(t, dsn, version1)
	_, err := postgres.New(t.Context(), postgres.Options{DSN: dsn})
	expectCode(t, storage.CodeUnsupported, err)
	if !strings.Contains(err.Error(), "authz storage migrate") {
		t.Errorf("%v does not name the command", err)
	}
	if tables := ask[string](t, dsn, `select relname::text from pg_class where relname like 'Authz%' and relkind = 'r' and relname in ('AuthzLock', 'AuthzSchema')`); len(tables) > 0 {
		t.Errorf("the refused driver made %v", tables)
	}
	connect(t, postgres.Options{DSN: dsn, Migrate: true})
	d := connect(t, postgres.Options{DSN: dsn}) // needs no leave any more
	checkMigrated(t, dsn, open(t, d, ""))
	if n := must[int64](t)(open(t, d, "docs").CountGrants(t.Context(), storage.GrantFilter{})); n != 0 {
		t.Errorf("a partition sees %d rows of the unpartitioned dataset", n)
	}
}

// checkMigrated reads the rows of version1.sql through the driver.
func checkMigrated(t *testing.T, dsn string, s storage.Store) {
	t.Helper()
	admin := authz.AdminProvenance("x")
	want := storage.Access{
		User: &authz.User{UserID: "Ann", Active: true, GroupIDs: []string{"b"}, OrgIDs: []string{"o"}, ManagerUserID: "ann"},
		Grants: []authz.Grant{
			{ID: "g1", Subject: "user:Ann", RoleID: "r", Scope: "*", ExpiresAt: authz.ExpiresAt(99), Provenance: admin, CreatedAt: 1},
			{ID: "g2", Subject: "group:b", Pattern: "docs.*", Scope: "docs.doc:1", Provenance: admin, CreatedAt: 2}},
		Revokes:      []authz.Revoke{{ID: "v1", UserID: "Ann", Pattern: "docs.doc.read", Scope: "*", Provenance: admin, CreatedAt: 3}},
		Roles:        []authz.Role{{ID: "r", Name: "Reader", Patterns: []string{"docs.doc.read"}}},
		Head:         authz.Position{Seq: 2},
		Closure:      []string{"user:Ann", "group:b", "group:a", "directs:ann", "orgof:ann", "org:o", "everyone"},
		ManagerChain: []string{"ann"},
	}
	got, err := s.ReadAccess(t.Context(), storage.AccessQuery{UserID: "Ann", Expand: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(authz.Expiry{})); diff != "" {
		t.Errorf("migrated rows (-want +got):\n%s", diff)
	}
	if users := collect(t, s.ListUsers(t.Context(), storage.UserFilter{}, storage.Page{})); len(users) != 2 || users[0].UserID != "Ann" {
		t.Errorf("users %v are not in byte order", users)
	}
	audit := collect(t, s.ListAudit(t.Context(), storage.AuditFilter{}))
	if len(audit) != 1 || audit[0].Hash != "" || string(audit[0].Detail) != `{"n": 1}` {
		t.Errorf("audit %v", audit)
	}
	if page := must[storage.EventPage](t)(s.EventsSince(t.Context(), authz.Position{Seq: 1}, 10)); (page.UpTo != authz.Position{Seq: 2}) || page.Events[0] != authz.UserEvent("Ann") {
		t.Errorf("events %v", page)
	}
	versions := collect(t, s.ListCatalogVersions(t.Context()))
	metrics := collect(t, s.ReadMetrics(t.Context(), storage.MetricFilter{Dimension: "grant"}))
	requests := collect(t, s.ListRequests(t.Context(), storage.RequestFilter{}, storage.RequestPage{}))
	if len(versions) != 2 || len(metrics) != 1 || metrics[0].Count != 4 || len(requests) != 1 || requests[0].Justification["why"] != "work" {
		t.Errorf("versions %v, metrics %v, requests %v", versions, metrics, requests)
	}
	if edges := collect(t, s.ListEdges(t.Context(), storage.EdgeOrg, []string{"o"}, storage.EdgePage{})); len(edges) != 1 || edges[0].From != "Ann" {
		t.Errorf("users of the org: %v", edges)
	}
	// What version 1 had no room for works from now on.
	write(t, s, storage.PutRecord{Record: record("1")}, storage.PutScopeParents{Scope: "docs.doc:1", Parents: []string{"*"}},
		storage.UpsertUser{User: authz.User{UserID: "Ann", GroupIDs: []string{"z", "b", "a"}}})
	if u, _, err := s.GetUser(t.Context(), "Ann"); err != nil || !slices.Equal(u.GroupIDs, []string{"z", "b", "a"}) {
		t.Errorf("groups %v, %v", u.GroupIDs, err)
	}
	checkLayout(t, dsn)
}

// checkLayout proves that every key and index is led by the partition, and that
// text compares by bytes.
func checkLayout(t *testing.T, dsn string) {
	t.Helper()
	if bad := ask[string](t, dsn, `select i.relname::text from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
		join pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0] where c.relname like 'Authz%' and a.attname <> 'app'`); len(bad) > 0 {
		t.Errorf("indexes not led by the partition: %v", bad)
	}
	if bad := ask[string](t, dsn, `select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_collation l on l.oid = a.attcollation
		where c.relname like 'Authz%' and c.relkind = 'r' and a.attnum > 0 and l.collname <> 'C'`); len(bad) > 0 {
		t.Errorf("columns in another order than that of bytes: %v", bad)
	}
}

func TestAMigratedDatabaseHasTheLayoutOfAFreshOne(t *testing.T) {
	fresh, old, second := postgrestest.Database(t), postgrestest.Database(t), postgrestest.Database(t)
	sql(t, old, version1)
	connect(t, postgres.Options{DSN: fresh})
	connect(t, postgres.Options{DSN: old, Migrate: true})
	connect(t, postgres.Options{DSN: second})
	sql(t, second, backToVersion2)
	connect(t, postgres.Options{DSN: second, Migrate: true})
	databases := map[string]string{"1": old, "2": second}
	for version, back := range map[string]string{"3": backToVersion3, "4": backToVersion4, "5": backToVersion5} {
		dsn := postgrestest.Database(t)
		connect(t, postgres.Options{DSN: dsn})
		sql(t, dsn, back) // without a partition
		_, err := postgres.New(t.Context(), postgres.Options{DSN: dsn})
		expectCode(t, storage.CodeUnsupported, err)
		if !strings.Contains(err.Error(), "schema version "+version) {
			t.Errorf("version %s answered %v", version, err)
		}
		connect(t, postgres.Options{DSN: dsn, Migrate: true})
		databases[version] = dsn
	}
	for name, dsn := range databases {
		if diff := cmp.Diff(ask[string](t, fresh, layout), ask[string](t, dsn, layout)); diff != "" {
			t.Errorf("layout of version %s (-fresh +migrated):\n%s", name, diff)
		}
	}
	checkLayout(t, fresh)
}

// layout is every column, with its type and what it may be, and every index.
const layout = `select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
	from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
	where c.relname like 'Authz%' and c.relkind = 'r'
	union all select tablename || ': ' || indexdef from pg_indexes where tablename like 'Authz%' order by 1`

// backToVersion5 takes from a database what version 5 did not know.
const backToVersion5 = `
drop table "AuthzAuditSubject";
drop index "idx_AuthzGrant_app_instanceAt_id";
update "AuthzSchema" set "version" = 5;
`

// backToVersion4 takes from a database what version 4 did not know.
const backToVersion4 = backToVersion5 + `
drop index "idx_AuthzGrant_app_createdAt_id", "idx_AuthzGrant_app_expiresAt_id", "idx_AuthzGrant_app_givenBy_id", "idx_AuthzGrant_app_instance";
alter table "AuthzAudit" drop column "detailBytes";
update "AuthzSchema" set "version" = 4;
`

// backToVersion3 takes from a database what version 3 did not know.
const backToVersion3 = backToVersion4 + `
drop table "AuthzScopeEdge", "AuthzUserOrg";
drop index "idx_AuthzGrant_app_scope_subject_id", "idx_AuthzMembership_app_groupId_userId", "idx_AuthzUser_app_managerUserId_userId";
create index "idx_AuthzMembership_app_groupId" on "AuthzMembership" ("app", "groupId");
create index "idx_AuthzUser_app_managerUserId" on "AuthzUser" ("app", "managerUserId");
update "AuthzSchema" set "version" = 3;
`

// backToVersion2 takes from a database what version 2 did not know.
const backToVersion2 = backToVersion3 + `
alter table "AuthzEpoch" drop column "identity", drop column "prunedIdentity";
alter table "AuthzEvent" drop column "identity";
update "AuthzCommit" set "result" = ("result"::jsonb - 'identity')::json;
update "AuthzSchema" set "version" = 2;
`

func TestADatabaseOfVersion2IsRefusedUntilItIsMigrated(t *testing.T) {
	dsn := postgrestest.Database(t)
	before := open(t, connect(t, postgres.Options{DSN: dsn}), "docs")
	relationaltest.Fill(t, before)
	relationaltest.FillEdges(t, before)
	sql(t, dsn, backToVersion2)
	_, err := postgres.New(t.Context(), postgres.Options{DSN: dsn})
	expectCode(t, storage.CodeUnsupported, err)
	if !strings.Contains(err.Error(), "authz storage migrate") || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v does not name the command and the version", err)
	}
	connect(t, postgres.Options{DSN: dsn, Migrate: true})
	after := open(t, connect(t, postgres.Options{DSN: dsn}), "docs") // needs no leave any more
	if after.Info().Incarnation != before.Info().Incarnation || after.Info().SchemaVersion != 6 {
		t.Errorf("the store was %+v and is %+v", before.Info(), after.Info())
	}
	if role, found, err := after.GetRole(t.Context(), "r"); err != nil || !found || role.Name != "R" {
		t.Errorf("role %+v, %v", role, err)
	}
	relationaltest.HasEdges(t, after)
	relationaltest.AfterVersionTwo(t, after)
	checkLayout(t, dsn)
}

func TestDatabasesOfVersions3To5AreRefusedUntilTheyAreMigrated(t *testing.T) {
	for version, back := range map[string]string{"version 3": backToVersion3, "version 4": backToVersion4, "version 5": backToVersion5} {
		t.Run(version, func(t *testing.T) { migratesIndexes(t, version, back) })
	}
}

func migratesIndexes(t *testing.T, version, back string) {
	dsn := postgrestest.Database(t)
	d := connect(t, postgres.Options{DSN: dsn})
	before := open(t, d, "docs")
	relationaltest.FillEdges(t, before)
	relationaltest.FillEdges(t, open(t, d, ""))
	relationaltest.FillLog(t, before)
	sql(t, dsn, back)
	_, err := postgres.New(t.Context(), postgres.Options{DSN: dsn})
	expectCode(t, storage.CodeUnsupported, err)
	if !strings.Contains(err.Error(), "authz storage migrate") || !strings.Contains(err.Error(), version) {
		t.Errorf("%v does not name the command and the version", err)
	}
	connect(t, postgres.Options{DSN: dsn, Migrate: true})
	d = connect(t, postgres.Options{DSN: dsn}) // needs no leave any more
	for _, partition := range []string{"", "docs"} {
		after := open(t, d, partition)
		relationaltest.HasEdges(t, after)
		relationaltest.WritesEdges(t, after)
	}
	after := open(t, d, "docs")
	if after.Info().Incarnation != before.Info().Incarnation || after.Info().SchemaVersion != 6 {
		t.Errorf("the store was %+v and is %+v", before.Info(), after.Info())
	}
	relationaltest.HasSubjects(t, after)
	checkLayout(t, dsn)
}

// What an older version left out stays out, and takes what needs it along.
func TestADatabaseWithTablesLeftOutIsMigrated(t *testing.T) {
	for name, c := range map[string]struct {
		back, leftOut string
		edges         bool
	}{
		"ancestry of version 3": {backToVersion3, `"AuthzScopeParent"`, false},
		"metrics of version 3":  {backToVersion3, `"AuthzMetric"`, true},
		"events of version 3":   {backToVersion3, `"AuthzEvent", "AuthzEpoch"`, true},
		"lookups of version 4":  {backToVersion4, `"AuthzScopeEdge", "AuthzUserOrg"`, false},
		"metrics of version 4":  {backToVersion4, `"AuthzMetric"`, true},
		"events of version 4":   {backToVersion4, `"AuthzEvent", "AuthzEpoch"`, true},
		"lookups of version 5":  {backToVersion5, `"AuthzScopeEdge", "AuthzUserOrg"`, false},
		"metrics of version 5":  {backToVersion5, `"AuthzMetric"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := postgrestest.Database(t)
			relationaltest.FillEdges(t, open(t, connect(t, postgres.Options{DSN: dsn}), "docs"))
			sql(t, dsn, c.back, "drop table "+c.leftOut)
			_, err := postgres.New(t.Context(), postgres.Options{DSN: dsn})
			expectCode(t, storage.CodeUnsupported, err)
			connect(t, postgres.Options{DSN: dsn, Migrate: true})
			s := open(t, connect(t, postgres.Options{DSN: dsn}), "docs")
			if has := s.Info().Capabilities.Has(storage.CapLookups); has != c.edges {
				t.Errorf("lookups %t", has)
			}
			if !s.Info().Capabilities.Has(storage.CapAuditSubjects) {
				t.Error("no version left out the subjects of audit entries")
			}
			if tables := ask[int64](t, dsn, `select count(*) from pg_class where relkind = 'r' and '"' || relname || '"' = any(string_to_array('`+c.leftOut+`', ', '))`); tables[0] != 0 {
				t.Errorf("%d tables were made that had been left out", tables[0])
			}
			if c.edges {
				relationaltest.HasEdges(t, s)
				relationaltest.WritesEdges(t, s)
				return
			}
			_, err = s.ReadPeople(t.Context(), storage.PeopleQuery{})
			expectCode(t, storage.CodeUnsupported, err)
			write(t, s, storage.UpsertUser{User: authz.User{UserID: "u", OrgIDs: []string{"o"}}}, storage.DeleteUser{UserID: "u"})
		})
	}
}

func TestADatabaseOfALaterVersionIsRefused(t *testing.T) { // R02
	dsn := postgrestest.Database(t)
	d := connect(t, postgres.Options{DSN: dsn})
	open(t, d, "a")
	sql(t, dsn, `update "AuthzSchema" set "version" = 7`)
	_, err := d.Open(t.Context(), "a")
	expectCode(t, storage.CodeUnsupported, err)
	_, err = postgres.New(t.Context(), postgres.Options{DSN: dsn, Migrate: true})
	expectCode(t, storage.CodeUnsupported, err)
}

func TestHostsThatStartAtOnceMakeOrMigrateTheTablesOnce(t *testing.T) { // R05
	for name, prepare := range map[string]string{"empty": "select 1", "version 1": version1} {
		t.Run(name, func(t *testing.T) {
			dsn := postgrestest.Database(t)
			sql(t, dsn, prepare)
			var all sync.WaitGroup
			incarnations := make([]string, 6)
			for i := range incarnations {
				all.Go(func() {
					d, err := postgres.New(t.Context(), postgres.Options{DSN: dsn, Migrate: true})
					if err != nil {
						t.Error(err, errors.Unwrap(err))
						return
					}
					defer d.Close()
					s, err := d.Open(t.Context(), "")
					if err != nil {
						t.Error(err)
						return
					}
					incarnations[i] = s.Info().Incarnation
				})
			}
			all.Wait()
			if distinct := slices.Compact(slices.Sorted(slices.Values(incarnations))); len(distinct) != 1 || distinct[0] == "" {
				t.Errorf("incarnations %v", distinct)
			}
			checkLayout(t, dsn)
		})
	}
}

func TestAMigrationThatDiesHalfWayIsDoneByTheNext(t *testing.T) { // R05
	dsn := postgrestest.Database(t)
	sql(t, dsn, version1)
	// Somebody reads the last table to be migrated, so that the migration stops there.
	reader, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close(context.Background())
	tx, err := reader.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select * from "AuthzMetric"`); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		_, err := postgres.New(context.Background(), postgres.Options{DSN: dsn, Migrate: true})
		first <- err
	}()
	const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() order by query_start`
	waitFor(t, "the migration to wait", func() bool { return len(ask[int32](t, dsn, waiting)) == 1 })
	second := make(chan error, 1)
	go func() {
		d, err := postgres.New(context.Background(), postgres.Options{DSN: dsn, Migrate: true})
		if err == nil {
			defer d.Close()
		}
		second <- err
	}()
	waitFor(t, "the second migration to wait", func() bool { return len(ask[int32](t, dsn, waiting)) == 2 })
	if got := ask[int64](t, dsn, `select pg_terminate_backend(pid)::int::bigint from pg_stat_activity where wait_event_type = 'Lock'
		and datname = current_database() order by query_start limit 1`); len(got) != 1 {
		t.Fatal("nobody to kill")
	}
	var ours *storage.Error
	if err := <-first; !errors.As(err, &ours) || ours.Code != storage.CodeUnavailable {
		t.Fatalf("the killed migration answered %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	checkMigrated(t, dsn, open(t, connect(t, postgres.Options{DSN: dsn}), ""))
}

func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestALeftOutTableTakesItsCapabilityAlong(t *testing.T) {
	dsn := postgrestest.Database(t)
	connect(t, postgres.Options{DSN: dsn})
	sql(t, dsn, `drop table "AuthzEvent", "AuthzEpoch", "AuthzCatalogVersion", "AuthzImports", "AuthzMetric", "AuthzScopeParent", "AuthzScopeEdge", "AuthzUserOrg", "AuthzRecord", "AuthzAuditSubject"`)
	s := open(t, connect(t, postgres.Options{DSN: dsn}), "")
	if diff := cmp.Diff(storage.Capabilities{storage.CapBatchRoles, storage.CapExpand, storage.CapRenewal, storage.CapHealth}, s.Info().Capabilities); diff != "" {
		t.Fatal(diff)
	}
	ctx := t.Context()
	_, err := s.Head(ctx)
	expectCode(t, storage.CodeUnsupported, err)
	expectCode(t, storage.CodeUnsupported, s.RecordMetrics(ctx, []storage.MetricBucket{{Dimension: "grant"}}))
	_, _, err = s.GetImports(ctx)
	expectCode(t, storage.CodeUnsupported, err)
	_, err = s.GetScopeParents(ctx, nil)
	expectCode(t, storage.CodeUnsupported, err)
	_, _, err = s.GetRecord(ctx, "c", "1")
	expectCode(t, storage.CodeUnsupported, err)
	for _, err := range s.ListCatalogVersions(ctx) {
		expectCode(t, storage.CodeUnsupported, err)
	}
	for _, err := range s.ListScopes(ctx, storage.Page{}) {
		expectCode(t, storage.CodeUnsupported, err)
	}
	for _, err := range s.ListEdges(ctx, storage.EdgeGroup, []string{"g"}, storage.EdgePage{}) {
		expectCode(t, storage.CodeUnsupported, err)
	}
	for _, err := range s.ListGrantsAt(ctx, []string{"*"}, storage.GrantsAtPage{}) {
		expectCode(t, storage.CodeUnsupported, err)
	}
	_, err = s.ReadPeople(ctx, storage.PeopleQuery{})
	expectCode(t, storage.CodeUnsupported, err)
	for _, err := range s.ListAudit(ctx, storage.AuditFilter{Subject: new("user:u")}) {
		expectCode(t, storage.CodeUnsupported, err)
	}
	if _, err := s.Commit(ctx, storage.Commit{ID: "audited", Audit: []authz.AuditEntry{{ID: "a", Actor: "u"}}}); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Watch(ctx) {
		expectCode(t, storage.CodeUnsupported, err)
	}
	for _, c := range []storage.Commit{commitOf(storage.PutRecord{Record: record("1")}), {ID: "e", Events: []authz.Event{authz.UserEvent("u")}},
		{ID: "h", Requires: []storage.Requirement{storage.RequireHead{}}}, commitOf(storage.PutImports{Manifest: []byte("{}")}),
		commitOf(storage.DeleteScopeParents{Scope: "*"})} {
		_, err := s.Commit(ctx, c)
		expectCode(t, storage.CodeUnsupported, err)
	}
	write(t, s, storage.PutCatalog{Version: 1, Document: []byte(`{}`)}, storage.UpsertUser{User: authz.User{UserID: "u"}})
	if a, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u", Expand: true}); err != nil || a.User == nil {
		t.Fatal(a, err)
	}
	sql(t, dsn, `drop table "AuthzRole"`)
	_, err = postgres.New(ctx, postgres.Options{DSN: dsn})
	expectCode(t, storage.CodeUnsupported, err)
}
