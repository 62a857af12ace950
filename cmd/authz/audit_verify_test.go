package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/authzhost/authz/host/anchor"
	"github.com/authzhost/authz/sdk/authz"
)

func TestVerifyFailsOnALogThatHasNoHashes(t *testing.T) {
	s := newTenant(t) // without audit.hash_chain; setting it up wrote entries
	for _, way := range []string{"socket", "url"} {
		for _, format := range []string{"text", "json"} {
			out, errs, code := s.say("", s.over(way, []string{"audit", "verify", "-o", format})...)
			if code != exitFailure || !strings.Contains(errs, "no hashes") || strings.Contains(out, "holds") || format == "json" && !strings.Contains(out, `"reason": "no_hashes"`) {
				t.Errorf("over the %s: exit %d\n%s%s", way, code, out, errs)
			}
		}
	}
	export, _, _ := s.say("", s.over("url", []string{"audit", "export", "--to", "0s"})...)
	if _, errs, code := s.say(export, "audit", "verify", "-f", "-"); code != exitFailure || !strings.Contains(errs, "no hashes") {
		t.Errorf("of an export: exit %d, %s", code, errs)
	}
	chained := newConsole(t)
	if said := chained.do("audit", "verify"); !strings.Contains(said, "0 entries") {
		t.Errorf("an empty log: %s", said)
	}
	chained.do("group", "create", "g")
	more, _, _ := chained.say("", chained.over("url", []string{"audit", "export", "--to", "0s"})...)
	if _, errs, code := s.say(more+export, "audit", "verify", "-f", "-"); code != exitFailure || !strings.Contains(errs, string(authz.HashChainUnhashed)) {
		t.Errorf("hashes that end: exit %d, %s", code, errs)
	}
	if out, _, code := s.say(export+more, "audit", "verify", "-f", "-"); code != 0 || !strings.Contains(out, "nothing vouches for the") {
		t.Errorf("hashes that begin late: exit %d, %s", code, out)
	}
}

// anchoredTenant keeps its rows in a file, and its anchors in another.
type anchoredTenant struct {
	*tenant
	database, anchors string
}

func newAnchoredTenant(t *testing.T) *anchoredTenant {
	x := &anchoredTenant{tenant: newTenantWith(t, func(text string) string {
		return overSQLite(strings.Replace(text, "    provider:", "    audit: {hash_chain: true}\n    provider:", 1)) + "audit: {anchor: {file: anchors.ndjson, interval: 1s}}\n"
	})}
	x.database, x.anchors = filepath.Join(x.dir, "docs.db"), filepath.Join(x.dir, "anchors.ndjson")
	return x
}

// restarted stops the host cleanly, has act do as it likes with the database, and
// starts it again.
func (x *anchoredTenant) restarted(act func(db *sql.DB)) {
	x.t.Helper()
	_ = x.host.Process.Signal(syscall.SIGTERM)
	<-x.host.done
	if code := x.host.ProcessState.ExitCode(); code != 0 {
		x.t.Fatalf("the stop: exit %d\n%s", code, x.host.errs.String())
	}
	db, err := sql.Open("sqlite", x.database)
	if err != nil {
		x.t.Fatal(err)
	}
	act(db)
	if err := db.Close(); err != nil {
		x.t.Fatal(err)
	}
	x.host = x.start("serve", "--config", filepath.Join(x.dir, "authz.yaml"))
	eventually(x.t, "the host is ready again", func() bool { return listensAt.MatchString(x.host.errs.String()) })
	x.base = "http://" + listensAt.FindStringSubmatch(x.host.errs.String())[1]
	x.founder.base, x.founder.origin = x.base, x.base
}

func (x *anchoredTenant) exec(db *sql.DB, statement string, args ...any) {
	x.t.Helper()
	result, err := db.Exec(statement, args...)
	if err != nil {
		x.t.Fatal(err)
	}
	if n, _ := result.RowsAffected(); n == 0 {
		x.t.Fatalf("%s: no row", statement)
	}
}

func (x *anchoredTenant) verify(code int, says string, args ...string) {
	x.t.Helper()
	out, errs, got := x.say("", append([]string{"audit", "verify", "--socket", x.socket}, args...)...)
	if got != code || !strings.Contains(out+errs, says) {
		x.t.Errorf("audit verify %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), got, code, says, out, errs)
	}
}

func TestAnchorsTellOfACutAndARewrittenLog(t *testing.T) {
	x := newAnchoredTenant(t)
	for _, name := range []string{"a", "b", "c"} {
		x.do("group", "create", name)
	}
	eventually(t, "the log is anchored while the host runs", func() bool {
		text, _ := os.ReadFile(x.anchors)
		return bytes.Contains(text, []byte(`"log":"application/docs"`)) && bytes.Contains(text, []byte(`"log":"account/acme"`)) && bytes.Contains(text, []byte(`"log":"account/"`))
	})
	x.do("group", "create", "d") // anchored at the stop, or before
	x.restarted(func(*sql.DB) {})
	anchored := []string{"--anchors", x.anchors}
	x.verify(0, "it agrees with", anchored...)
	if out, errs, code := x.say("", x.over("url", append([]string{"audit", "verify"}, anchored...))...); code != 0 || !strings.Contains(out, "it agrees with") {
		t.Errorf("over the url: exit %d\n%s%s", code, out, errs)
	}
	export, _, _ := x.say("", x.over("url", []string{"audit", "export", "--to", "0s"})...)
	entries := parsed[authz.AuditEntry](t, export)
	if anchors, _ := x.heads(); anchors[len(anchors)-1].Count != int64(len(entries)) {
		t.Errorf("the stop anchored %+v of %d entries", anchors[len(anchors)-1], len(entries))
	}

	last := entries[len(entries)-1]
	x.restarted(func(db *sql.DB) { x.exec(db, `delete from "AuthzAudit" where "id" = ?`, last.ID) })
	x.verify(0, "the chain holds") // what the chain alone cannot see
	x.verify(exitFailure, "the log was cut", anchored...)
	eventually(t, "the host notices", func() bool { return strings.Contains(x.host.errs.String(), "was altered") })

	entries[0].Actor = "eve"
	anew, err := authz.LinkHashChain(nil, plainEntries(entries))
	if err != nil {
		t.Fatal(err)
	}
	x.restarted(func(db *sql.DB) {
		for _, e := range anew[:len(anew)-1] {
			x.exec(db, `update "AuthzAudit" set "actor" = ?, "prevHash" = nullif(?, ''), "hash" = ? where "id" = ?`, e.Actor, e.PrevHash, e.Hash, e.ID)
		}
	})
	x.do("group", "create", "e")
	x.verify(0, "the chain holds")
	x.verify(exitFailure, "the log was written anew", anchored...)
	x.verify(exitFailure, `"reason": "rewritten"`, append(anchored, "-o", "json")...)
	x.verify(exitUsage, "leave out --prior-hash", append(anchored, "--prior-hash", "00")...)

	other := filepath.Join(x.dir, "other.ndjson")
	if err := os.WriteFile(other, []byte(`{"log":"application/shop","time":"2027-01-31T00:00:00Z","count":1,"hash":"00"}`+"\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.verify(exitUsage, "no anchor of application/docs", "--anchors", other)
	x.verify(exitUsage, "line 2 of", "--anchors", other)
}

func plainEntries(entries []authz.AuditEntry) []authz.AuditEntry {
	out := make([]authz.AuditEntry, len(entries))
	for i, e := range entries {
		e.PrevHash, e.Hash = "", ""
		out[i] = e
	}
	return out
}

func parsed[T any](t *testing.T, text string) (list []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

// heads are the anchors of docs.
func (x *anchoredTenant) heads() (heads []authz.AuditAnchor, err error) {
	f, err := os.Open(x.anchors)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, _, err := anchor.Read(f)
	for _, a := range all {
		if a.Log == "application/docs" {
			heads = append(heads, a)
		}
	}
	return heads, err
}

func TestTheAccountLogIsVerified(t *testing.T) {
	x := newAnchoredTenant(t)
	anchored := []string{"--account", "--anchors", x.anchors}
	x.restarted(func(*sql.DB) {}) // anchors everything
	x.logsIn()
	x.verify(0, "account/acme: the chain holds", "--account")
	x.verify(0, `"log": "account/"`, "--account", "-o", "json")
	x.verify(0, "it agrees with", anchored...)
	for _, more := range [][]string{nil, {"--anchors", x.anchors}} {
		if out := x.works(append([]string{"audit", "verify", "--account", "--org", "acme"}, more...)...); !strings.Contains(out, "the chain holds") {
			t.Error(out)
		}
	}
	x.fails(exitUsage, "over the socket", "audit", "verify", "--account", "--url", x.base, "--token-file", filepath.Join(x.dir, "secret"))
	x.fails(exitFailure, "no org root", "audit", "verify", "--org", "acme")
	if out := x.works("org", "audit", "-o", "json"); !regexp.MustCompile(`"hash": ?"[0-9a-f]{64}"`).MatchString(out) {
		t.Errorf("the log is listed without its hashes:\n%s", out)
	}

	newest := func(db *sql.DB) (id string) {
		x.scan(db, &id, `select max("id") from "AuthzRecord" where "collection" = 'log' and "id" like 'acme/%'`)
		return id
	}
	x.restarted(func(db *sql.DB) {
		x.exec(db, `delete from "AuthzRecord" where "collection" = 'log' and "id" = ?`, newest(db))
	})
	x.verify(exitFailure, "account/acme: the log was cut: ", "--account")
	x.verify(exitFailure, "own record of its head", "--account")

	// Cut to its second entry, the record of the head with it: the chain holds, and only
	// anchors tell.
	x.restarted(func(db *sql.DB) {
		var second, data string
		x.scan(db, &second, `select "id" from "AuthzRecord" where "collection" = 'log' and "id" like 'acme/%' order by "id" limit 1 offset 1`)
		x.exec(db, `delete from "AuthzRecord" where "collection" = 'log' and "id" like 'acme/%' and "id" > ?`, second)
		x.scan(db, &data, `select "data" from "AuthzRecord" where "collection" = 'log' and "id" = ?`, second)
		e := parsed[authz.AuditEntry](t, data)[0]
		head, _ := json.Marshal(fields{"at": e.At, "id": e.ID, "hash": e.Hash, "count": 2})
		x.exec(db, `update "AuthzRecord" set "data" = ? where "collection" = 'log_heads' and "id" = 'acme/head'`, string(head))
	})
	x.verify(0, "account/acme: the chain holds: 2 entries", "--account")
	x.verify(exitFailure, "account/acme: the log was cut: 2 of", anchored...)

	// What an earlier version wrote has no hashes.
	x.restarted(func(db *sql.DB) {
		x.exec(db, `delete from "AuthzRecord" where "collection" = 'log_heads'`)
		x.exec(db, `update "AuthzRecord" set "data" = json_remove("data", '$.hash', '$.prevHash') where "collection" = 'log'`)
	})
	x.verify(exitFailure, "account/acme: the log has entries and no hashes", "--account")
	x.signIn("acme")
	x.verify(exitFailure, "account/: the log has entries and no hashes", "--account")
	x.logsIn() // at where the host is now
	if out := x.works("audit", "verify", "--account", "--org", "acme", "--url", x.base); !strings.Contains(out, "nothing vouches for the 2 before it") {
		t.Error(out)
	}
}

func (x *anchoredTenant) scan(db *sql.DB, into *string, query string, args ...any) {
	x.t.Helper()
	if err := db.QueryRow(query, args...).Scan(into); err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
}

// TestAHostThatCannotAnchorDoesNotStart, since nobody would notice.
func TestAHostThatCannotAnchorDoesNotStart(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return strings.Replace(text, "    provider:", "    audit: {hash_chain: true}\n    provider:", 1) + "audit: {anchor: {file: anchors.ndjson}}\n"
	})
	if err := os.Symlink(filepath.Join(s.dir, "elsewhere"), filepath.Join(s.dir, "anchors.ndjson")); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if _, errs, code := s.run("serve", "--config", path); code == 0 || !strings.Contains(errs, "audit.anchor.file") || !strings.Contains(errs, "is a link") {
		t.Errorf("exit %d after %s\n%s", code, time.Since(started), errs)
	}
}
