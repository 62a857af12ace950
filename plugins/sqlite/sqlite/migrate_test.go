package sqlite_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/equal"
	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/relational/relationaltest"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// versionOne is the layout of schema version 1 with rows in it: no column app,
// keys of their own, an audit log without hashes, some optional tables left out.
const versionOne = `
CREATE TABLE "AuthzGrant" ("id" TEXT NOT NULL PRIMARY KEY, "subject" TEXT NOT NULL, "roleId" TEXT, "pattern" TEXT, "scope" TEXT NOT NULL,
	"expiresAt" BIGINT, "provenance" TEXT NOT NULL, "createdAt" BIGINT NOT NULL);
CREATE INDEX "AuthzGrant_subject_idx" ON "AuthzGrant" ("subject");
CREATE TABLE "AuthzRevoke" ("id" TEXT NOT NULL PRIMARY KEY, "userId" TEXT NOT NULL, "pattern" TEXT NOT NULL, "scope" TEXT NOT NULL,
	"provenance" TEXT NOT NULL, "createdAt" BIGINT NOT NULL);
CREATE TABLE "AuthzRole" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT NOT NULL, "description" TEXT, "patterns" TEXT NOT NULL, "requestable" TEXT);
CREATE TABLE "AuthzGroup" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT NOT NULL, "description" TEXT, "virtual" BOOLEAN NOT NULL DEFAULT false);
CREATE TABLE "AuthzGroupParent" ("childId" TEXT NOT NULL, "parentId" TEXT NOT NULL, PRIMARY KEY ("childId", "parentId"));
CREATE TABLE "AuthzUser" ("userId" TEXT NOT NULL PRIMARY KEY, "active" BOOLEAN NOT NULL, "orgIds" TEXT NOT NULL, "managerUserId" TEXT);
CREATE TABLE "AuthzMembership" ("userId" TEXT NOT NULL, "groupId" TEXT NOT NULL, PRIMARY KEY ("userId", "groupId"));
CREATE TABLE "AuthzRequest" ("id" TEXT NOT NULL PRIMARY KEY, "requesterUserId" TEXT NOT NULL, "roleId" TEXT, "pattern" TEXT, "scope" TEXT NOT NULL,
	"proposedExpiresAt" BIGINT, "justification" TEXT NOT NULL, "state" TEXT NOT NULL, "stageIndex" INTEGER NOT NULL, "stages" TEXT NOT NULL,
	"decisions" TEXT NOT NULL, "createdAt" BIGINT NOT NULL, "decidedAt" BIGINT);
CREATE TABLE "AuthzCatalog" ("id" INTEGER NOT NULL PRIMARY KEY DEFAULT 1, "version" INTEGER NOT NULL, "document" TEXT NOT NULL);
CREATE TABLE "AuthzAudit" ("id" TEXT NOT NULL PRIMARY KEY, "at" BIGINT NOT NULL, "actor" TEXT NOT NULL, "action" TEXT NOT NULL, "target" TEXT NOT NULL, "detail" TEXT);
CREATE UNIQUE INDEX "AuthzAudit_at_id_key" ON "AuthzAudit" ("at", "id");
CREATE TABLE "AuthzEpoch" ("id" INTEGER NOT NULL PRIMARY KEY DEFAULT 1, "seq" BIGINT NOT NULL, "prunedThrough" BIGINT NOT NULL DEFAULT 0);
CREATE TABLE "AuthzEvent" ("seq" BIGINT NOT NULL PRIMARY KEY, "type" TEXT NOT NULL, "payload" TEXT NOT NULL, "at" BIGINT NOT NULL);

INSERT INTO "AuthzGrant" VALUES ('g1', 'user:u1', 'r1', NULL, '*', 99, '{"kind":"admin","actorUserId":"root"}', 1), ('g2', 'group:eng', NULL, 'docs.read', 'docs.doc:1', NULL, '{"kind":"system"}', 2);
INSERT INTO "AuthzRevoke" VALUES ('v1', 'u1', 'docs.write', '*', '{"kind":"system"}', 3);
INSERT INTO "AuthzRole" VALUES ('r1', 'Reader', NULL, '["docs.read"]', NULL);
INSERT INTO "AuthzGroup" VALUES ('eng', 'Engineering', 'all of it', false), ('all', 'Everybody', NULL, true);
INSERT INTO "AuthzGroupParent" VALUES ('eng', 'all');
INSERT INTO "AuthzUser" VALUES ('u1', true, '["acme"]', 'boss');
INSERT INTO "AuthzMembership" VALUES ('u1', 'eng');
INSERT INTO "AuthzCatalog" VALUES (1, 7, '{"keys":[]}');
INSERT INTO "AuthzAudit" VALUES ('a1', 5, 'root', 'grant.create', 'g1', '{"x":1}');
INSERT INTO "AuthzEpoch" VALUES (1, 2, 1);
INSERT INTO "AuthzEvent" VALUES (2, 'user', '{"userId":"u1"}', 6);
`

// raw opens the file past the driver.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db := raw(t, path)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, o sqlite.Options) storage.Driver {
	t.Helper()
	d, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func mustStore(t *testing.T, d storage.Driver, partition string) storage.Store {
	t.Helper()
	s, err := d.Open(t.Context(), partition)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// R01
func TestVersionOneIsRefusedAndMigratedWhenAsked(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	execute(t, path, versionOne)
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if storage.CodeOf(err) != storage.CodeUnsupported || !strings.Contains(err.Error(), "authz storage migrate") || !strings.Contains(err.Error(), "version 1") {
		t.Fatalf("version 1 answered %v", err)
	}
	if err := mustOpen(t, sqlite.Options{Path: path, Migrate: true}).Close(); err != nil {
		t.Fatal(err)
	}
	store := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "") // without the option
	migrated(t, store)
	if other := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs"); other.Info().Incarnation == store.Info().Incarnation {
		t.Error("a new partition has the incarnation of the old rows")
	}
	ledByApp(t, path)
	// A second migration has nothing to do.
	mustOpen(t, sqlite.Options{Path: path, Migrate: true})
}

// migrated expects the rows of versionOne and that they can be worked with.
func migrated(t *testing.T, s storage.Store) {
	t.Helper()
	ctx := t.Context()
	access, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u1", Expand: true})
	if err != nil {
		t.Fatal(err)
	}
	want := storage.Access{
		User: &authz.User{UserID: "u1", Active: true, GroupIDs: []string{"eng"}, OrgIDs: []string{"acme"}, ManagerUserID: "boss"},
		Grants: []authz.Grant{
			{ID: "g1", Subject: "user:u1", RoleID: "r1", Scope: "*", ExpiresAt: authz.ExpiresAt(99), Provenance: authz.AdminProvenance("root"), CreatedAt: 1},
			{ID: "g2", Subject: "group:eng", Pattern: "docs.read", Scope: "docs.doc:1", Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}, CreatedAt: 2},
		},
		Revokes:      []authz.Revoke{{ID: "v1", UserID: "u1", Pattern: "docs.write", Scope: "*", Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}, CreatedAt: 3}},
		Roles:        []authz.Role{{ID: "r1", Name: "Reader", Patterns: []string{"docs.read"}}},
		Head:         authz.Position{Seq: 2},
		Closure:      []string{"user:u1", "group:eng", "group:all", "directs:boss", "orgof:boss", "org:acme", "everyone"},
		ManagerChain: []string{"boss"},
	}
	if diff := cmp.Diff(want, access, equal.Answers); diff != "" {
		t.Fatalf("access after the migration (-want +got):\n%s", diff)
	}
	if page, err := s.EventsSince(ctx, authz.Position{Seq: 1}, 10); err != nil || (page.UpTo != authz.Position{Seq: 2}) || len(page.Events) != 1 || page.Events[0] != authz.UserEvent("u1") {
		t.Errorf("events %+v, %v", page, err)
	}
	if page, err := s.EventsSince(ctx, authz.Position{}, 10); err != nil || !page.Gap {
		t.Errorf("the pruned-through mark is lost: %+v, %v", page, err)
	}
	if head, found, err := s.GetCatalog(ctx); err != nil || !found || head.Version != 7 {
		t.Errorf("catalog %+v, %v", head, err)
	}
	for e, err := range s.ListAudit(ctx, storage.AuditFilter{}) {
		if err != nil || e.ID != "a1" || e.Hash != "" || string(e.Detail) != `{"x":1}` {
			t.Errorf("audit %+v, %v", e, err)
		}
	}
	for e, err := range s.ListEdges(ctx, storage.EdgeOrg, []string{"acme"}, storage.EdgePage{}) {
		if err != nil || e.From != "u1" {
			t.Errorf("a user of the org: %v, %v", e, err)
		}
	}
	result, err := s.Commit(ctx, storage.Commit{ID: "after", Events: []authz.Event{{Type: authz.EventAll}}, Audit: []authz.AuditEntry{{ID: "a2", At: 9, Hash: "h"}},
		Changes: []storage.Change{storage.UpsertUser{User: authz.User{UserID: "u1", GroupIDs: []string{"z", "eng"}}}}})
	if err != nil || (result.UpTo != authz.Position{Seq: 3, Identity: storage.Follow("", "after", 3)}) {
		t.Fatalf("a commit after the migration: %+v, %v", result, err)
	}
	if u, _, err := s.GetUser(ctx, "u1"); err != nil || !slices.Equal(u.GroupIDs, []string{"z", "eng"}) {
		t.Errorf("user %+v, %v", u, err)
	}
}

// backToVersionFive takes from a database what version 5 did not know.
const backToVersionFive = `
DROP TABLE "AuthzAuditSubject";
DROP INDEX "AuthzGrant_instanceAt_id";
UPDATE "AuthzSchema" SET "version" = 5;
PRAGMA user_version = 5;
`

// backToVersionFour takes from a database what version 4 did not know.
const backToVersionFour = backToVersionFive + `
DROP INDEX "AuthzGrant_createdAt_id";
DROP INDEX "AuthzGrant_expiresAt_id";
DROP INDEX "AuthzGrant_givenBy_id";
DROP INDEX "AuthzGrant_instance";
ALTER TABLE "AuthzAudit" DROP COLUMN "detailBytes";
UPDATE "AuthzSchema" SET "version" = 4;
PRAGMA user_version = 4;
`

// backToVersionThree takes from a database what version 3 did not know.
const backToVersionThree = backToVersionFour + `
DROP TABLE "AuthzScopeEdge";
DROP TABLE "AuthzUserOrg";
DROP INDEX "AuthzGrant_scope_subject_id";
DROP INDEX "AuthzMembership_groupId_userId";
DROP INDEX "AuthzUser_managerUserId_userId";
CREATE INDEX "AuthzMembership_groupId" ON "AuthzMembership" ("app", "groupId");
CREATE INDEX "AuthzUser_managerUserId" ON "AuthzUser" ("app", "managerUserId");
UPDATE "AuthzSchema" SET "version" = 3;
PRAGMA user_version = 3;
`

// backToVersionTwo takes from a database what version 2 did not know.
const backToVersionTwo = backToVersionThree + `
ALTER TABLE "AuthzEpoch" DROP COLUMN "identity";
ALTER TABLE "AuthzEpoch" DROP COLUMN "prunedIdentity";
ALTER TABLE "AuthzEvent" DROP COLUMN "identity";
UPDATE "AuthzCommit" SET "result" = json_remove("result", '$.identity');
UPDATE "AuthzSchema" SET "version" = 2;
PRAGMA user_version = 2;
`

func TestVersionTwoIsRefusedAndMigratedWhenAsked(t *testing.T) {
	path, fresh := t.TempDir()+"/authz.db", t.TempDir()+"/fresh.db"
	d := mustOpen(t, sqlite.Options{Path: path})
	before := mustStore(t, d, "docs")
	relationaltest.Fill(t, before)
	relationaltest.FillEdges(t, before)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, backToVersionTwo)
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if storage.CodeOf(err) != storage.CodeUnsupported || !strings.Contains(err.Error(), "authz storage migrate") || !strings.Contains(err.Error(), "version 2") {
		t.Fatalf("version 2 answered %v", err)
	}
	if err := mustOpen(t, sqlite.Options{Path: path, Migrate: true}).Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, sqlite.Options{Path: fresh})
	if diff := cmp.Diff(layoutIn(t, fresh), layoutIn(t, path)); diff != "" {
		t.Errorf("layout (-fresh +migrated):\n%s", diff)
	}
	after := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs") // without the option
	if after.Info().Incarnation != before.Info().Incarnation || after.Info().SchemaVersion != 6 {
		t.Errorf("the store was %+v and is %+v", before.Info(), after.Info())
	}
	if role, found, err := after.GetRole(t.Context(), "r"); err != nil || !found || role.Name != "R" {
		t.Errorf("role %+v, %v", role, err)
	}
	relationaltest.HasEdges(t, after)
	relationaltest.AfterVersionTwo(t, after)
	// A second migration has nothing to do.
	mustOpen(t, sqlite.Options{Path: path, Migrate: true})
}

// Versions that lack tables and indexes.
var withoutIndexes = map[string]string{"version 3": backToVersionThree, "version 4": backToVersionFour, "version 5": backToVersionFive}

func TestVersionsThreeToFiveAreRefusedAndMigratedWhenAsked(t *testing.T) {
	for version, back := range withoutIndexes {
		t.Run(version, func(t *testing.T) { migratesIndexes(t, version, back) })
	}
}

func migratesIndexes(t *testing.T, version, back string) {
	path, fresh := t.TempDir()+"/authz.db", t.TempDir()+"/fresh.db"
	d := mustOpen(t, sqlite.Options{Path: path})
	before := mustStore(t, d, "docs")
	relationaltest.FillEdges(t, before)
	relationaltest.FillEdges(t, mustStore(t, d, ""))
	relationaltest.FillLog(t, before)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, back)
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if storage.CodeOf(err) != storage.CodeUnsupported || !strings.Contains(err.Error(), "authz storage migrate") || !strings.Contains(err.Error(), version) {
		t.Fatalf("%s answered %v", version, err)
	}
	migrateAtOnce(t, path)
	mustOpen(t, sqlite.Options{Path: fresh})
	if diff := cmp.Diff(layoutIn(t, fresh), layoutIn(t, path)); diff != "" {
		t.Errorf("layout (-fresh +migrated):\n%s", diff)
	}
	d = mustOpen(t, sqlite.Options{Path: path}) // without the option
	for _, partition := range []string{"", "docs"} {
		after := mustStore(t, d, partition)
		relationaltest.HasEdges(t, after)
		relationaltest.WritesEdges(t, after)
	}
	after := mustStore(t, d, "docs")
	if after.Info().Incarnation != before.Info().Incarnation || after.Info().SchemaVersion != 6 {
		t.Errorf("the store was %+v and is %+v", before.Info(), after.Info())
	}
	relationaltest.HasSubjects(t, after)
}

// Without a partition nothing but the header of the file tells these versions.
func TestVersionsThreeToFiveWithoutRowsAreMigratedToo(t *testing.T) {
	for version, back := range withoutIndexes {
		path, fresh := t.TempDir()+"/authz.db", t.TempDir()+"/fresh.db"
		if err := mustOpen(t, sqlite.Options{Path: path}).Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, path, back)
		if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}); storage.CodeOf(err) != storage.CodeUnsupported || !strings.Contains(err.Error(), version) {
			t.Fatalf("%s answered %v", version, err)
		}
		mustOpen(t, sqlite.Options{Path: path, Migrate: true})
		mustOpen(t, sqlite.Options{Path: fresh})
		if diff := cmp.Diff(layoutIn(t, fresh), layoutIn(t, path)); diff != "" {
			t.Errorf("layout (-fresh +migrated):\n%s", diff)
		}
	}
}

// A table of edges or of subjects that is made anew holds those of the rows there are.
func TestATableThatRepeatsOthersIsFilledWhenItIsLost(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	d := mustOpen(t, sqlite.Options{Path: path})
	before := mustStore(t, d, "docs")
	relationaltest.FillEdges(t, before)
	relationaltest.FillLog(t, before)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `DROP TABLE "AuthzScopeEdge"; DROP TABLE "AuthzUserOrg"; DROP TABLE "AuthzAuditSubject"; PRAGMA user_version = 0`)
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs")
	relationaltest.HasEdges(t, s)
	relationaltest.HasSubjects(t, s)
}

func TestTwoMigrationsOfVersionTwoAtOnce(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	d := mustOpen(t, sqlite.Options{Path: path})
	relationaltest.Fill(t, mustStore(t, d, "docs"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, backToVersionTwo)
	migrateAtOnce(t, path)
	relationaltest.AfterVersionTwo(t, mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs"))
}

func migrateAtOnce(t *testing.T, path string) {
	t.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			d, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrate: true})
			if err != nil {
				t.Error(err)
				return
			}
			_ = d.Close()
		})
	}
	all.Wait()
}

// layoutIn is every column, with its type and what it may be, and every index.
func layoutIn(t *testing.T, path string) (layout []string) {
	t.Helper()
	rows, err := raw(t, path).Query(`SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.pk || ' ' || coalesce(c.dflt_value, '')
		FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'
		UNION ALL SELECT tbl_name || ': ' || sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		layout = append(layout, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return layout
}

// ledByApp reads the schema: every key and every index begins with the partition.
func ledByApp(t *testing.T, path string) {
	t.Helper()
	db := raw(t, path)
	for _, table := range relational.Tables {
		var first string
		var notNull int
		err := db.QueryRow(`SELECT name, "notnull" FROM pragma_table_info(?) WHERE pk = 1`, table.Name).Scan(&first, &notNull)
		if err != nil || first != "app" || notNull != 1 {
			t.Errorf("the key of %s begins with %q, %v", table.Name, first, err)
		}
		var indexes, led int
		err = db.QueryRow(`SELECT count(*), count(*) FILTER (WHERE (SELECT i.name FROM pragma_index_info(l.name) AS i WHERE i.seqno = 0) = 'app') FROM pragma_index_list(?) AS l`,
			table.Name).Scan(&indexes, &led)
		if err != nil || indexes != led || indexes < len(table.Indexes) {
			t.Errorf("%s has %d indexes, %d led by app, %v", table.Name, indexes, led, err)
		}
	}
}

// R02
func TestALaterVersionIsRefused(t *testing.T) {
	for name, statement := range map[string]string{
		"marked":      `PRAGMA user_version = 7`,
		"a partition": `UPDATE "AuthzSchema" SET "version" = 7 WHERE "app" = 'docs'`,
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/authz.db"
			d := mustOpen(t, sqlite.Options{Path: path})
			mustStore(t, d, "docs")
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, path, statement)
			for _, migrate := range []bool{false, true} {
				_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrate: migrate})
				if storage.CodeOf(err) != storage.CodeUnsupported || !strings.Contains(err.Error(), "version 7") {
					t.Errorf("migrate %v: %v", migrate, err)
				}
			}
		})
	}
}

func TestTablesOfVersionOneWithoutANeededColumnAreLeftAlone(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	execute(t, path, `CREATE TABLE "AuthzGrant" ("id" TEXT PRIMARY KEY, "subject" TEXT)`, `INSERT INTO "AuthzGrant" VALUES ('g', 's')`)
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrate: true})
	if storage.CodeOf(err) != storage.CodeUnsupported {
		t.Fatalf("got %v", err)
	}
	var tables int
	if err := raw(t, path).QueryRow(`SELECT count(*) FROM sqlite_schema WHERE type = 'table'`).Scan(&tables); err != nil || tables != 1 {
		t.Errorf("%d tables, %v", tables, err)
	}
}

func TestWhatADatabaseLacksIsMadeWhenItIsOpened(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	d := mustOpen(t, sqlite.Options{Path: path})
	before := mustStore(t, d, "docs")
	insertMany(t, before, 5)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// As a dump that was loaded again, made before some table was added.
	execute(t, path, `PRAGMA user_version = 0`, `DROP TABLE "AuthzMetric"`, `DROP INDEX "AuthzGrant_subject"`)
	after := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs")
	if before.Info().Incarnation != after.Info().Incarnation {
		t.Error("the incarnation changed")
	}
	subject := "user:u"
	if n, err := after.CountGrants(t.Context(), storage.GrantFilter{Subject: &subject}); err != nil || n != 5 {
		t.Errorf("%d grants, %v", n, err)
	}
	if err := after.RecordMetrics(t.Context(), []storage.MetricBucket{{Dimension: "grant", Count: 1}}); err != nil {
		t.Error(err)
	}
	ledByApp(t, path)
}

// R05
func TestTwoMigrationsAtOnce(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	execute(t, path, versionOne)
	migrateAtOnce(t, path)
	migrated(t, mustStore(t, mustOpen(t, sqlite.Options{Path: path}), ""))
}

// R05: the child migrates a large table and is killed at some moment of it.
func TestAMigrationKilledInTheMiddleIsDoneAgain(t *testing.T) {
	if path := os.Getenv("AUTHZ_TEST_MIGRATE"); path != "" {
		d, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Migrate: true})
		if err == nil {
			_ = d.Close()
		}
		return
	}
	path := t.TempDir() + "/authz.db"
	execute(t, path, versionOne, `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 15000)
		INSERT INTO "AuthzGrant" SELECT 'x' || i, 'user:x' || (i % 1000), NULL, 'docs.read', '*', NULL, '{"kind":"system"}', i FROM n`)
	killed := 0
	for pause := 20 * time.Millisecond; pause < 5*time.Second && killed < 5; pause += 40 * time.Millisecond {
		child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		child.Env = append(os.Environ(), "AUTHZ_TEST_MIGRATE="+path)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
		_ = child.Process.Kill()
		if child.Wait() == nil {
			break // it was faster
		}
		killed++
		var app int
		db := raw(t, path)
		if err := db.QueryRow(`SELECT count(*) FROM pragma_table_info('AuthzGrant') WHERE name = 'app'`).Scan(&app); err != nil {
			t.Fatal(err)
		}
		_ = db.Close()
		if app == 1 {
			break // killed after the end of the transaction
		}
	}
	t.Logf("killed %d times", killed)
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path, Migrate: true}), "")
	migrated(t, s)
	if n, err := s.CountGrants(t.Context(), storage.GrantFilter{}); err != nil || n != 15_002 {
		t.Errorf("%d grants, %v", n, err)
	}
	ledByApp(t, path)
}
