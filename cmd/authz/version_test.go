package main

import (
	"strings"
	"testing"
)

func TestTheVersionPrintsTheNotices(t *testing.T) {
	s := newShell(t)
	for _, format := range []string{"text", "json"} {
		out := s.ok("version", "--notices", "-o", format)
		for _, want := range []string{"github.com/hashicorp/go-plugin v", "https://proxy.golang.org/github.com/hashicorp/yamux/@v/", "Mozilla Public License", "Go standard library"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q", format, want)
			}
		}
	}
}
