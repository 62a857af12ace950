package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// What the socket answers whole is answered by the provider API and the hosted API in
// pages, and printed alike; a log that was changed is found out by either.
func TestReviewsAreTheSameOverEveryWay(t *testing.T) {
	x := newAnchoredTenant(t)
	x.logsIn()
	x.works("application", "link", "docs", "local:docs")
	x.do("catalog", "publish", x.dir+"/docs.yaml")
	x.do("catalog", "publish", x.write("changed.yaml", strings.ReplaceAll(docsCatalog, "docs.bills.read", "docs.bills.read_bill")))
	x.do("role", "create", "clerk", "--pattern", "docs.bills.*")
	var many strings.Builder
	many.WriteString("grants:\n")
	for i := range 450 {
		fmt.Fprintf(&many, "  - {subject: \"user:u_%03d\", role: clerk}\n", i)
		if i%2 == 0 {
			fmt.Fprintf(&many, "  - {subject: \"user:u_%03d\", pattern: docs.files.*}\n", i)
		}
	}
	x.do("grant", "create", "-f", x.write("many.yaml", many.String()))
	x.do("revoke", "create", "u_002", "docs.bills.*")

	ways := func(args ...string) map[string][]string {
		org := slices.Concat(args, []string{"--org", "acme", "--url", x.base})
		return map[string][]string{"socket": x.over("socket", args), "url": x.over("url", args), "root": org, "app": append(slices.Clone(org), "--app", "docs")}
	}
	for _, command := range []string{"sod", "entitlements", "drift --since 1", "sod --user u_000 --user u_001", "entitlements --user u_002"} {
		answers := map[string]any{}
		for way, args := range ways(append(strings.Fields(command), "-o", "json")...) {
			out, errs, code := x.say("", args...)
			var v any
			if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil {
				t.Fatalf("%s over the %s: exit %d, %v\n%.500s%s", command, way, code, err, out, errs)
			}
			answers[way] = v
		}
		for way, v := range answers {
			if !reflect.DeepEqual(v, answers["socket"]) {
				t.Errorf("%s over the %s is not what it is over the socket:\n%.1000v\n%.1000v", command, way, v, answers["socket"])
			}
		}
	}
	for way, args := range ways("sod", "--exit-code") {
		if out, errs, code := x.say("", args...); code != exitDenied || strings.Count(out, "edit-vs-approve") != 224 {
			t.Errorf("sod over the %s: exit %d, %d lines\n%s", way, code, strings.Count(out, "\n"), errs)
		}
	}
	verify := func(code int, says string, args ...string) {
		t.Helper()
		for way, args := range ways(append([]string{"audit", "verify"}, args...)...) {
			if out, errs, got := x.say("", args...); got != code || !strings.Contains(out+errs, says) {
				t.Errorf("audit verify over the %s: exit %d\n%s%s", way, got, out, errs)
			}
		}
	}
	verify(0, "the chain holds")
	export, _, _ := x.say("", x.over("url", []string{"audit", "export", "--to", "0s"})...)
	entries := parsed[authz.AuditEntry](t, export)
	verify(0, fmt.Sprintf("%d entries are part of it", len(entries)-3), "--prior-hash", entries[2].Hash)
	x.fails(exitFailure, "no entry of the log has the hash", "audit", "verify", "--org", "acme", "--prior-hash", "00")
	x.fails(exitUsage, "name it with --app", "audit", "verify", "--org", "acme", "--anchors", x.anchors)
	x.shows("it agrees with", "audit", "verify", "--org", "acme", "--app", "docs", "--anchors", x.anchors)
	x.fails(exitUsage, "leave out --org", "audit", "verify", "--org", "acme", "-f", "-")

	x.restarted(func(db *sql.DB) { x.exec(db, `update "AuthzAudit" set "actor" = 'eve' where "id" = ?`, entries[4].ID) })
	x.logsIn()
	verify(exitFailure, "hash_mismatch at entry 5 of those read")
}
