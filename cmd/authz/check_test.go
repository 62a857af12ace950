package main

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/access"
)

// Whoever was allowed yesterday wants to know what ended.
func TestADenialNamesTheGrantThatExpired(t *testing.T) {
	s := newConsole(t)
	s.do("role", "create", "reader", "--name", "Reader", "--pattern", "docs.files.read")
	s.do("grant", "create", "user:u_1", "--role", "reader", "--expires", "1s")
	check := s.over("socket", []string{"check", "--user", "u_1", "docs.files.read"})
	eventually(t, "the grant has expired", func() bool {
		out, _, _ := s.say("", check...)
		return out == "DENIED\n"
	})
	_, said, _ := s.say("", check...)
	if !strings.Contains(said, "would allow this; it expired at ") {
		t.Errorf("check says %q", said)
	}
	var e access.Explanation
	s.read(&e, "explain", "--user", "u_1", "docs.files.read")
	if len(e.Expired) != 1 || e.Expired[0].RoleID != "reader" || !strings.Contains(said, e.Expired[0].ID) {
		t.Fatalf("the explanation: %+v", e)
	}
	if text := s.do("check", "--reason", "--user", "u_1", "docs.files.read"); text != "DENIED  expired\n" {
		t.Errorf("check says %s", text)
	}
	if text := s.do("explain", "--user", "u_1", "docs.files.read"); !strings.Contains(text, "expired grant "+e.Expired[0].ID+"  role reader to user:u_1 at *, expired ") {
		t.Errorf("explain says %s", text)
	}
	if _, said, _ := s.say("", s.over("socket", []string{"check", "--user", "u_1", "docs.files.delete"})...); strings.Contains(said, "expired") {
		t.Errorf("of another key: %s", said)
	}
}
