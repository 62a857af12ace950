package sqlite

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Statements gathers what drivers issue.
type Statements struct {
	mu   sync.Mutex
	seen map[string]bool
}

// Observe makes a driver tell its statements.
func (s *Statements) Observe(o Options) Options {
	o.observe = func(statement string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[statement] = true
	}
	return o
}

// CarryThePartition is I28 over the statements seen: each names the partition once
// for every table that it touches, and reads by a key or an index that the
// partition leads.
func (s *Statements) CarryThePartition(t *testing.T) {
	t.Helper()
	if len(s.seen) < 100 {
		t.Errorf("only %d statements were seen", len(s.seen))
	}
	d, _ := open(t, Options{Path: tempFile(t)})
	for _, text := range slices.Sorted(maps.Keys(s.seen)) {
		if bare(text) {
			continue
		}
		tables, apps := len(touched.FindAllString(text, -1)), len(partitioned.FindAllString(text, -1))
		if tables == 0 || apps < tables {
			t.Errorf("%d tables and %d partitions in: %s", tables, apps, text)
		}
		if plan := planOf(t, d.db, text); scansTable(plan) {
			t.Errorf("reads beyond the partition: %s\n%s", text, plan)
		}
	}
}

// scansTable reports that a plan reads anything whole but the rows that a statement
// makes itself. A plan names tables by their aliases.
func scansTable(plan string) bool {
	own := []string{"SCAN CONSTANT ROW", "SCAN above", "SCAN ids", "SCAN j VIRTUAL TABLE INDEX 1:"}
	for line := range strings.Lines(plan) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN (subquery-") && !slices.Contains(own, line) {
			return true
		}
	}
	return false
}

// Lists of lookups go through an index in its order: nothing is sorted, whatever SQLite
// knows of the rows.
func TestLookupsGoThroughIndexes(t *testing.T) {
	d, _ := open(t, Options{Path: tempFile(t)})
	indexes := map[string]string{
		grantsAt: "AuthzGrant_scope_subject_id (app=? AND scope=? AND (subject,id)>(?,?))",
		usersOf:  "AuthzUser USING PRIMARY KEY (app=? AND userId=?)", revokesOf: "AuthzRevoke_userId (app=? AND userId=?)", revokesOf + atTheScopes: "AuthzRevoke_userId (app=? AND userId=?)",
		grantsOf: "COVERING INDEX AuthzGrant_subject (app=? AND subject=?)", grantsOf + atTheScopes: "COVERING INDEX AuthzGrant_subject (app=? AND subject=?)",
		edgesTo[storage.EdgeParent]:  "PRIMARY KEY (app=? AND parentId=? AND childId>?)",
		edgesTo[storage.EdgeOrg]:     "PRIMARY KEY (app=? AND orgId=? AND userId>?)",
		edgesTo[storage.EdgeGroup]:   "COVERING INDEX AuthzMembership_groupId_userId (app=? AND groupId=? AND userId>?)",
		edgesTo[storage.EdgeManager]: "COVERING INDEX AuthzUser_managerUserId_userId (app=? AND managerUserId=? AND userId>?)",
		userIDsAbove:                 "COVERING INDEX AuthzGrant_subject (app=? AND subject>? AND subject<?)",
		userIDsFrom:                  "COVERING INDEX AuthzUser_managerUserId_userId (app=? AND managerUserId>?)",
		scopeEdges.drop:              "AuthzScopeEdge_childId (app=? AND childId=?)",
		orgEdges.none:                "AuthzUserOrg_userId (app=? AND userId=?)",
	}
	for text, index := range indexes {
		plan := planOf(t, d.db, text)
		if !strings.Contains(plan, index) || scansTable(plan) || text != usersOf && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("not by %s: %s\n%s", index, text, plan)
		}
	}
}

func TestSearchesOfGrantsGoThroughIndexes(t *testing.T) {
	for index, q := range map[string]authz.GrantSearch{
		"PRIMARY KEY (app=?)":                                        {},
		"AuthzGrant_instance (app=? AND <expr>>?)":                   {Instances: true},
		"AuthzGrant_givenBy_id (app=? AND <expr>=?)":                 {Actor: new("root")},
		"AuthzGrant_createdAt_id (app=?)":                            {Order: authz.GrantsNewest},
		"AuthzGrant_instanceAt_id (app=? AND <expr>>?)":              {Order: authz.GrantsNewest, Instances: true},
		"AuthzGrant_instanceAt_id (app=? AND <expr>>? AND <expr><?)": {Order: authz.GrantsNewest, Instances: true, CreatedFrom: new(int64(1)), CreatedTo: new(int64(9))},
		"AuthzGrant_createdAt_id (app=? AND createdAt>?)":            {Order: authz.GrantsNewest, CreatedFrom: new(int64(1))},
		"AuthzGrant_expiresAt_id (app=? AND expiresAt>?)":            {Order: authz.GrantsExpiring},
	} {
		for _, after := range []authz.GrantPlace{{}, {At: 2, ID: "g"}} {
			seen := &Statements{}
			d, s := open(t, seen.Observe(Options{Path: tempFile(t)}))
			for _, err := range s.FindGrants(t.Context(), q, storage.FoundPage{After: after, Limit: 10}) {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(index, " (")
			searches := 0
			for _, text := range slices.Collect(maps.Keys(seen.seen)) { // the plans are statements too
				if !strings.Contains(text, `FROM "AuthzGrant"`) {
					continue
				}
				searches++
				plan := planOf(t, d.db, text)
				if !strings.Contains(plan, name) || after.ID == "" && !strings.Contains(plan, index) || scansTable(plan) || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("not by %s: %s\n%s", index, text, plan)
				}
			}
			if searches != 1 {
				t.Errorf("%+v made %d statements", q, searches)
			}
		}
	}
}

func TestAScanOfATableIsSeenUnderItsAlias(t *testing.T) {
	d, _ := open(t, Options{Path: tempFile(t)})
	for where, whole := range map[string]bool{`u."app" = ?`: false, `u."app" || '' = ?`: true} {
		if plan := planOf(t, d.db, `SELECT u."active" FROM "AuthzUser" AS u WHERE `+where); scansTable(plan) != whole {
			t.Errorf("%s: %s", where, plan)
		}
	}
}

var (
	touched     = regexp.MustCompile(`(FROM|JOIN|INTO|UPDATE) "Authz`)
	partitioned = regexp.MustCompile(`"app" = (\?|"Authz)|INTO "Authz[A-Za-z]*" \("app"`)
)

// bare statements touch no row of an application: transactions, and what a driver
// asks and makes when it opens the file.
func bare(s string) bool {
	for _, prefix := range []string{"BEGIN", "COMMIT", "ROLLBACK", "PRAGMA ", "CREATE ", `SELECT "name" FROM pragma_table_info`, `SELECT "name" FROM sqlite_schema`,
		`SELECT coalesce(nullif(max("version"), 0), ?1) FROM "AuthzSchema"`} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

func planOf(t *testing.T, db *database, s string) string {
	t.Helper()
	parameters := strings.Count(s, "?")
	for n, numbered := range []string{"?1", "?2", "?3", "?4", "?5", "?6", "?7", "?8"} {
		if strings.Contains(s, numbered) {
			parameters = n + 1
		}
	}
	args := make([]any, parameters)
	for i := range args {
		args[i] = "1"
	}
	var plan strings.Builder
	err := db.read(t.Context(), func(w *work) error {
		return w.each("EXPLAIN QUERY PLAN "+s, args, func(scan relational.Scan) (bool, error) {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			plan.WriteString("  " + detail + "\n")
			return false, err
		})
	})
	if err != nil {
		t.Errorf("no plan for %s: %v", s, err)
	}
	return plan.String()
}

// Entries about a subject are read in the order of the log from the table of subjects,
// whatever else they are to be.
func TestEntriesAboutASubjectGoThroughTheirTable(t *testing.T) {
	subject, few, many := new("user:u"), int64(3), int64(newestAtOnce+1)
	after := &authz.AuditCursor{At: 2, ID: "a"}
	for _, f := range []storage.AuditFilter{{}, {Limit: &few}, {Limit: &many}, {Cursor: after}, {From: new(int64(1)), To: new(int64(9))},
		{Target: new("t"), Actor: new("a"), Action: new("x"), Limit: &few}, {DetailLimit: &many, Limit: &few}} {
		seen := &Statements{}
		d, s := open(t, seen.Observe(Options{Path: tempFile(t)}))
		f.Subject = subject
		for _, err := range s.ListAudit(t.Context(), f) {
			t.Fatal(err)
		}
		searches := 0
		for _, text := range slices.Collect(maps.Keys(seen.seen)) {
			if !strings.Contains(text, `FROM "AuthzAuditSubject"`) {
				continue
			}
			searches++
			plan := planOf(t, d.db, text)
			first, second := strings.Index(plan, "s USING PRIMARY KEY (app=? AND subject=?"), strings.Index(plan, "INDEX sqlite_autoindex_AuthzAudit_1 (app=? AND id=?)")
			if first < 0 || second < first || scansTable(plan) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s\n%s", text, plan)
			}
		}
		if searches == 0 {
			t.Errorf("%+v asked for no subject", f)
		}
	}
}
