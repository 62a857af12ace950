package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// TestListsOfMoreThanOnePage: what is longer than a page of the wire, or than what
// a table holds back, is whole.
func TestListsOfMoreThanOnePage(t *testing.T) {
	s := newConsole(t)
	const n = 2*pageSize + 7
	var file strings.Builder
	file.WriteString("name: many\ngrants:\n")
	for i := range n {
		fmt.Fprintf(&file, "  - {subject: 'user:u_%04d', pattern: docs.files.read}\n", i)
	}
	if p := s.apply(file.String()); len(p.Changes) != n {
		t.Fatalf("%d changes", len(p.Changes))
	}
	if out := s.do("apply", "-f", s.file(file.String())); !strings.HasPrefix(out, "nothing to do") {
		t.Errorf("again it said\n%s", out)
	}
	for _, c := range []struct{ limit, want int }{{0, n}, {pageSize, pageSize}, {pageSize + 1, pageSize + 1}, {3, 3}} {
		limit := []string{"--limit", fmt.Sprint(c.limit)}
		var rows struct{ Grants []authz.Grant }
		s.read(&rows, append([]string{"grant", "list"}, limit...)...)
		seen := map[string]bool{}
		for _, g := range rows.Grants {
			seen[g.ID] = true
		}
		if len(rows.Grants) != c.want || len(seen) != c.want {
			t.Errorf("limit %d: %d rows, %d of them different", c.limit, len(rows.Grants), len(seen))
		}
		if out := s.do(append([]string{"grant", "list"}, limit...)...); strings.Count(out, "\n") != c.want+1 || strings.Count(out, "SUBJECT") != 1 {
			t.Errorf("limit %d: %d lines", c.limit, strings.Count(out, "\n"))
		}
	}
	var users struct{ Users []json.RawMessage }
	s.read(&users, "entitlements")
	if len(users.Users) != n {
		t.Errorf("%d users in the export", len(users.Users))
	}
	out, errs, code := s.say("", s.over("url", []string{"audit", "export", "--to", "0s"})...)
	if entries := strings.Count(out, "\n"); code != 0 || entries != (n+apply.GrantBatch-1)/apply.GrantBatch {
		t.Errorf("%d entries exported: %s", entries, errs)
	}
}

func TestErrorsSayWhatToDoNext(t *testing.T) {
	for want, err := range map[string]error{
		"look before you repeat it": &authz.UnavailableError{Message: "m", Outcome: authz.OutcomeUnknown},
		"authz storage status":      fmt.Errorf("wrapped: %w", &authz.UnavailableError{Message: "m"}),
		"provider secrets":          &provider.TransportError{Status: 401},
		"No answer arrived":         &provider.TransportError{},
		"against that application":  authz.Rejected(authz.CodeNotOrgRoot, "m"),
	} {
		if got := hint(err); !strings.Contains(got, want) {
			t.Errorf("%T %v: %q", err, err, got)
		}
	}
	for _, err := range []error{authz.Validation("m"), &provider.TransportError{Status: 500}} {
		if got := hint(err); got != "" {
			t.Errorf("%T: %q", err, got)
		}
	}
	s := newConsole(t)
	token := s.write("wrong", "a-wrong-secret-of-the-test")
	if _, errs, code := s.say("", "role", "list", "--url", s.base, "--token-file", token); code != exitFailure || !strings.Contains(errs, "provider secrets") {
		t.Errorf("a wrong token: exit %d, %s", code, errs)
	}
	if _, errs, code := s.say("", "role", "list", "--socket", s.dir+"/none.sock"); code != exitFailure || !strings.Contains(errs, "authz serve") {
		t.Errorf("no host: exit %d, %s", code, errs)
	}
}

func TestIDsDoNotSteerTheTerminal(t *testing.T) {
	var b strings.Builder
	table(&b, [][]string{{"ID", "NAME"}, {"a\x1b[2J", "b\tc\nd"}})
	lines(&b, []string{"e\rf"})
	printIssues(&b, "c.yaml", []suggestedIssue{{Issue: authz.Issue{Path: "g\x07"}}})
	if strings.ContainsAny(b.String(), "\x1b\t\r\x07") || strings.Count(b.String(), "\n") != 4 {
		t.Errorf("printed %q", b.String())
	}
}
