package postgres_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Few rows under most ids, very many under one, in all that lookups read.
const skewed = `
insert into "AuthzGrant" ("app", "id", "subject", "pattern", "scope", "provenance", "createdAt")
	select 'p', 'g' || i, 'user:u' || i % 5000, 'docs.*', case when i % 2 = 0 then 'd.f:0' else 'd.f:' || i % 9000 end, json_build_object('actorUserId', 'a' || i % 500), 1 from generate_series(1, 60000) i;
insert into "AuthzScopeEdge" ("app", "parentId", "childId") select 'p', case when i % 2 = 0 then 'd.f:0' else 'd.f:' || i % 9000 end, 'd.d:' || i from generate_series(1, 60000) i;
insert into "AuthzScopeParent" ("app", "scope", "parents") select 'p', 'd.d:' || i, '[]' from generate_series(1, 60000) i;
insert into "AuthzUser" ("app", "userId", "active", "orgIds", "managerUserId") select 'p', 'u' || i, true, '[]', case when i % 2 = 0 then 'm' else 'u' || i / 9 end from generate_series(1, 60000) i;
insert into "AuthzMembership" ("app", "userId", "groupId") select 'p', 'u' || i, case when i % 2 = 0 then 'g0' else 'g' || i % 9000 end from generate_series(1, 60000) i;
insert into "AuthzUserOrg" ("app", "userId", "orgId") select 'p', 'u' || i, case when i % 2 = 0 then 'o0' else 'o' || i % 9000 end from generate_series(1, 60000) i;
insert into "AuthzRevoke" ("app", "id", "userId", "pattern", "scope", "provenance", "createdAt") select 'p', 'r' || i, 'u' || i % 20000, 'docs.*', 'd.f:' || i % 9, '{}', 1 from generate_series(1, 60000) i;
insert into "AuthzRequest" ("app", "id", "requesterUserId", "scope", "justification", "state", "stageIndex", "stages", "decisions", "createdAt") select 'p', 'q' || i, 'u' || i % 700, '*', '{}', 'pending', 0, '[]', '[]', i from generate_series(1, 60000) i;
insert into "AuthzAudit" ("app", "id", "at", "actor", "action", "target") select 'p', 'a' || i, i / 3, 'a' || i % 50, 'x.y', 't' || i % 900 from generate_series(1, 60000) i;
insert into "AuthzAuditSubject" ("app", "subject", "at", "id") select 'p', case when i % 2 = 0 then 'user:u0' else 'user:u' || i % 9000 end, i / 3, 'a' || i from generate_series(1, 60000) i;
`

// No lookup reads a table whole, and no list of one sorts, whatever is known of its rows.
func TestLookupsGoThroughIndexes(t *testing.T) {
	dsn := postgrestest.Database(t)
	seen := &asked{}
	traced := open(t, connect(t, postgres.Traced(postgres.Options{DSN: dsn}, seen)), "p")
	sql(t, dsn, skewed)
	ids := func(prefix string) (list []string) {
		for i := range storage.MaxScopes {
			list = append(list, fmt.Sprint(prefix, i))
		}
		return list
	}
	ask := func() {
		ctx := t.Context()
		for kind, of := range map[storage.EdgeKind][]string{storage.EdgeParent: ids("d.f:"), storage.EdgeGroup: ids("g"), storage.EdgeOrg: ids("o"), storage.EdgeManager: append(ids("u")[1:], "m")} {
			for _, list := range [][]string{of, of[:1]} {
				collect(t, traced.ListEdges(ctx, kind, list, storage.EdgePage{Limit: 1000}))
			}
		}
		for _, list := range [][]string{ids("d.f:"), {"d.f:0"}} {
			collect(t, traced.ListGrantsAt(ctx, list, storage.GrantsAtPage{AfterScope: "d.f:0", AfterSubject: "user:u3", Limit: 1000}))
		}
		collect(t, traced.ListScopes(ctx, storage.Page{After: "d.d:5", Limit: 1000}))
		for _, order := range []authz.GrantOrder{authz.GrantsByID, authz.GrantsNewest, authz.GrantsExpiring} {
			for _, q := range []authz.GrantSearch{{}, {Instances: true}, {CreatedFrom: new(int64(1))}} {
				for _, after := range []authz.GrantPlace{{}, {At: 2, ID: "g5"}} {
					q.Order = order
					collect(t, traced.FindGrants(ctx, q, storage.FoundPage{After: after, Limit: 100}))
				}
			}
		}
		for _, after := range []string{"", "g5"} { // in an order by time what one gave is sorted
			collect(t, traced.FindGrants(ctx, authz.GrantSearch{Actor: new("a3")}, storage.FoundPage{After: authz.GrantPlace{ID: after}, Limit: 100}))
		}
		for _, subject := range []string{"user:u0", "user:u7"} {
			for _, f := range []storage.AuditFilter{{}, {Limit: new(int64(100))}, {Cursor: &authz.AuditCursor{At: 5, ID: "a"}, Limit: new(int64(1000))}, {From: new(int64(100)), To: new(int64(9000))},
				{Action: new("x.y"), DetailLimit: new(int64(5)), Limit: new(int64(100))}} {
				f.Subject = &subject
				collect(t, traced.ListAudit(ctx, f))
			}
		}
		for _, after := range []string{"", "u15"} {
			collect(t, traced.ListUserIDs(ctx, "u1", storage.Page{After: after, Limit: 1000}))
		}
		for _, scopes := range [][]string{nil, {"d.f:0"}, ids("d.f:")} {
			must[storage.People](t)(traced.ReadPeople(ctx, storage.PeopleQuery{UserIDs: ids("u"), Scopes: scopes}))
		}
	}
	for _, known := range []string{"analyze", "vacuum analyze"} {
		sql(t, dsn, known)
		seen.reset()
		ask()
		if len(seen.queries) < 16 {
			t.Fatalf("only %d statements were seen", len(seen.queries))
		}
		for _, q := range seen.queries {
			plan := planOf(t, dsn, q)
			ruinous := regexp.MustCompile(`Seq Scan|Sort|Bitmap`)
			if strings.Contains(q.SQL, "union all") && !strings.Contains(q.SQL, "recursive") { // of people, whose groups are sorted and whose rows are not bounded
				ruinous = regexp.MustCompile(`Seq Scan|app_scope`)
			}
			if strings.HasPrefix(q.SQL, `select p."at"`) { // the first of a bounded number is found by sorting them
				_, plan, _ = strings.Cut(plan, "Sort Key")
			}
			if strings.Contains(q.SQL, "AuthzAuditSubject") { // of a subject that few entries are about, these may be sorted
				ruinous = regexp.MustCompile(`Seq Scan`)
				if !strings.Contains(plan, `"pkey_AuthzAuditSubject"`) {
					t.Errorf("no index of subjects in the plan, after %s, of\n%s\n%s", known, q.SQL, plan)
				}
			}
			if bad := ruinous.FindString(plan); bad != "" {
				t.Errorf("%s in the plan, after %s, of\n%s\n%s", bad, known, q.SQL, plan)
			}
		}
	}
}

// planOf is the plan of a statement with its arguments, one step a line.
func planOf(t *testing.T, dsn string, q pgx.TraceQueryStartData) string {
	t.Helper()
	conn := must[*pgx.Conn](t)(pgx.Connect(t.Context(), dsn))
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), "explain (costs off) "+q.SQL, q.Args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(must[[]string](t)(pgx.CollectRows(rows, pgx.RowTo[string])), "\n")
}

// asked keeps queries with their arguments.
type asked struct {
	mu      sync.Mutex
	queries []pgx.TraceQueryStartData
}

func (a *asked) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queries = nil
}

func (a *asked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if strings.Contains(d.SQL, `"Authz`) {
		a.queries = append(a.queries, pgx.TraceQueryStartData{SQL: d.SQL, Args: slices.Clone(d.Args)})
	}
	return ctx
}

func (*asked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
