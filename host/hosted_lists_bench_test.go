package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// peopled adds to a benchmarked host what else its lists show: roles, groups with
// members, revokes, recorded scopes, seats and a log of 1,000,000 entries. Its people are
// those of the grants, 10,000.
func peopled(b *testing.B, p *hostedPair) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), p.dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background())
	var partition string
	if err := conn.QueryRow(b.Context(), `select "app" from "AuthzGrant" where "subject" = 'user:u_1' limit 1`).Scan(&partition); err != nil {
		b.Fatal(err)
	}
	for _, rows := range []string{
		`"AuthzGroup" ("app", "id", "name") select $1, 'g_' || lpad(i::text, 4, '0'), 'Group ' || i || ' of the north' from generate_series(0, 999) i`,
		`"AuthzRole" ("app", "id", "name", "patterns") select $1, 'r_' || lpad(i::text, 4, '0'), 'Role ' || i, '["docs.files.read"]' from generate_series(0, 999) i`,
		`"AuthzRevoke" ("app", "id", "userId", "pattern", "scope", "provenance", "createdAt") select $1, 'v_' || lpad(i::text, 4, '0'), 'u_' || i, 'docs.files.edit', '*', '{"kind":"admin","actorUserId":"bench"}', 1 from generate_series(0, 999) i`,
		`"AuthzUser" ("app", "userId", "active", "orgIds") select $1, 'u_' || i, true, '[]' from generate_series(0, 9999) i`,
		`"AuthzMembership" ("app", "userId", "groupId") select $1, 'u_' || i, 'g_0000' from generate_series(0, 9999) i`,
		`"AuthzGrant" ("app", "id", "subject", "pattern", "scope", "provenance", "createdAt") select $1, 'i_' || lpad(i::text, 5, '0'), 'user:u_' || i, 'docs.files.read', 'docs.folder:f_' || lpad(i::text, 5, '0'), '{"kind":"admin","actorUserId":"bench"}', 1 from generate_series(0, 9999) i`,
		`"AuthzScopeParent" ("app", "scope", "parents") select $1, 'docs.folder:f_' || lpad(i::text, 5, '0'), '[]' from generate_series(0, 9999) i`,
		`"AuthzAudit" ("app", "id", "at", "actor", "action", "target", "detail") select $1, 'a' || lpad(i::text, 7, '0'), i, 'u_' || i % 50, (array['grant.create', 'role.update', 'user.set_groups', 'revoke.create'])[1 + i % 4], 't' || i % 10000, json_build_object('subject', 'user:u_' || i % 10000) from generate_series(1, 1000000) i`,
		`"AuthzAuditSubject" ("app", "subject", "at", "id") select $1, s.subject, i, 'a' || lpad(i::text, 7, '0') from generate_series(1, 1000000) i cross join lateral
			(select 'user:u_' || i % 50 union select 'user:u_' || i % 10000 union select 'user:t' || i % 10000 where i % 4 = 2) s(subject)`,
	} {
		if _, err := conn.Exec(b.Context(), "insert into "+rows, partition); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := conn.Exec(b.Context(), `vacuum analyze`); err != nil {
		b.Fatal(err)
	}
	for i := range 200 {
		p.clock.pass(time.Minute)
		p.owner.must(201, "POST", "/orgs/acme/seats", fmt.Sprintf(`{"userId":"u_%d","displayName":"Person %d","email":"p%d@example.com"}`, i, i, i))
	}
}

// BenchmarkHostedLists asks for the first and the last page of each list, for what
// somebody types, and for counts. An iteration is one answer; KiB is before compression.
func BenchmarkHostedLists(b *testing.B) {
	p := benchmarked(b)
	peopled(b, p)
	measure := func(name, path string) {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			size := 0
			for b.Loop() {
				p.clock.pass(time.Second)
				began := time.Now()
				a := p.owner.must(200, "GET", path, "")
				took, size = append(took, time.Since(began)), len(a.raw)
			}
			b.ReportMetric(median(took), "ms/p50")
			b.ReportMetric(float64(size)/1024, "KiB")
		})
	}
	for _, list := range []string{"org/grants", "org/revokes", "org/roles", "org/groups", "org/groups/g_0000/members", "org/users", "org/reporting-edges", "org/audit", "audit",
		"applications/docs/grants", "applications/docs/revokes", "applications/docs/scopes", "applications/docs/audit", "seats", "requests", "requests/queue", "api-keys", "applications",
		"org/who-can?key=docs.files.read", "org/where-can?userId=u_7&key=docs.files.read", "org/what-can?userId=u_7&application=docs"} {
		path := "/orgs/acme/" + list
		measure(list+" first", path)
		if strings.HasSuffix(list, "audit") {
			continue // which begins with its last page
		}
		and := "?"
		if strings.Contains(list, "?") {
			and = "&"
		}
		last := path
		for next, pages := p.owner.must(200, "GET", path+and+"limit=1000", "").text("nextCursor"), 0; next != "" && pages < 300; pages++ {
			p.clock.pass(time.Second)
			last = path + and + "limit=1000&cursor=" + next
			next = p.owner.must(200, "GET", last, "").text("nextCursor")
		}
		if last != path {
			measure(list+" last", strings.Replace(last, "limit=1000", "limit=100", 1))
		}
	}
	for _, search := range []string{"org/users?q=u_99", "org/roles?q=role%20999", "org/groups?q=north", "org/groups?q=nothing", "seats?q=person%20199", "applications/docs/scopes?q=docs.folder:f_099",
		"org/audit?subject=user:u_42", "org/audit?action=grant.*", "org/grants?subject=user:u_42",
		"org/grants?order=-createdAt", "org/grants?order=expiresAt", "org/grants?actor=nobody", "org/grants?pattern=docs.nothing.*", "org/grants?homes=all", "org/grants?homes=all&order=-createdAt",
		"applications/docs/grants?order=-createdAt", "applications/docs/grants?actor=nobody"} {
		measure(search, "/orgs/acme/"+search)
	}
	for _, count := range []string{"org/grants/count", "org/revokes/count", "org/groups/g_0000/members/count", "requests/queue/count", "applications/docs/grants/count", "applications/docs/revokes/count"} {
		measure(count, "/orgs/acme/"+count)
	}
}
