package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

var goOnAfter = regexp.MustCompile(`(\d+) entries written, go on with --after (\S+)`)

// TestAnExportGoesOnWhereItEnded: the parts, one behind the other, are the whole,
// and each is verified with the hash that the one before it told.
func TestAnExportGoesOnWhereItEnded(t *testing.T) {
	s := newConsole(t)
	export := func(more ...string) (text, after, hash string) {
		t.Helper()
		out, errs, code := s.say("", s.over("url", append([]string{"audit", "export", "--to", "0s"}, more...))...)
		said := goOnAfter.FindStringSubmatch(errs)
		if code != 0 || said == nil {
			t.Fatalf("exit %d\n%s", code, errs)
		}
		_, hash, _ = strings.Cut(errs, "kept elsewhere: ")
		return out, said[2], strings.TrimSpace(hash)
	}
	if text, after, _ := export(); text != "" || after != "0:" {
		t.Errorf("an empty log gave %q, %q", text, after)
	}
	s.do("group", "create", "a")
	s.do("group", "create", "b")
	first, after, hash := export()
	s.do("group", "create", "c")
	rest, last, _ := export("--after", after)
	if strings.Count(first, "\n") != 2 || strings.Count(rest, "\n") != 1 {
		t.Fatalf("exported\n%s--\n%s", first, rest)
	}
	if whole, _, _ := export(); whole != first+rest {
		t.Errorf("the whole is\n%s", whole)
	}
	if none, again, _ := export("--after", last); none != "" || again != last {
		t.Errorf("nothing new gave %q, %q", none, again)
	}
	verify := func(in string, more ...string) (string, int) {
		out, errs, code := s.say(in, append([]string{"audit", "verify", "-f", "-"}, more...)...)
		return out + errs, code
	}
	if said, code := verify(first + rest); code != 0 || !strings.Contains(said, "3 entries") {
		t.Errorf("the whole: exit %d, %s", code, said)
	}
	if said, code := verify(rest, "--prior-hash", hash); code != 0 || !strings.Contains(said, "1 entries") {
		t.Errorf("the second part: exit %d, %s", code, said)
	}
	if said, code := verify(rest); code != exitFailure || !strings.Contains(said, "broken_link at entry 1") {
		t.Errorf("the second part alone: exit %d, %s", code, said)
	}
	if said, code := verify(strings.Replace(first, `"target":"b"`, `"target":"x"`, 1), "-o", "json"); code != exitFailure || !strings.Contains(said, `"index": 1`) {
		t.Errorf("a changed entry: exit %d, %s", code, said)
	}
	if said, code := verify("{"); code != exitUsage || !strings.Contains(said, "standard input: entry 1") {
		t.Errorf("a cut file: exit %d, %s", code, said)
	}
	for _, way := range []string{"socket", "url"} {
		if out, errs, code := s.say("", s.over(way, []string{"audit", "verify", "--prior-hash", hash})...); code != 0 || !strings.Contains(out, "1 entries") {
			t.Errorf("over the %s: exit %d, %s%s", way, code, out, errs)
		}
	}
	// The default leaves the last minute to the next export.
	if out, errs, _ := s.say("", s.over("url", []string{"audit", "export"})...); out != "" {
		t.Errorf("exported\n%s%s", out, errs)
	}
}

// TestALongDetailIsCutInText: one entry of many grants names them all.
func TestALongDetailIsCutInText(t *testing.T) {
	s := newConsole(t)
	var many strings.Builder
	many.WriteString("grants:\n")
	for i := range 40 {
		fmt.Fprintf(&many, "  - {subject: \"user:u_%d\", pattern: docs.files.read}\n", i)
	}
	s.do("grant", "create", "-f", s.write("many.yaml", many.String()))
	for line := range strings.Lines(s.do("audit", "list", "--action", "grant.create_bulk")) {
		if n := len([]rune(line)); n > 2*maxDetail {
			t.Errorf("a line of %d characters", n)
		}
	}
	var log struct{ Events []authz.AuditEntry }
	s.read(&log, "audit", "list", "--action", "grant.create_bulk")
	if len(log.Events) != 1 || len(log.Events[0].Detail) < 2*maxDetail {
		t.Errorf("%+v", log)
	}
}
