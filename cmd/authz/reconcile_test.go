package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestASweepPrintsTheSecondAnswerAlone: rows may come and go between the report and
// the sweep.
func TestASweepPrintsTheSecondAnswerAlone(t *testing.T) {
	answers := []string{
		`{"orphanedGrants":[{"id":"g1","subject":"user:u_1","roleId":"editor","scope":"*"}]}`,
		`{"orphanedGrants":[{"id":"g2","subject":"user:u_2","pattern":"docs.x"}],"swept":true}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, answers[0])
		answers = answers[1:]
	}))
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := newReconcile()
	c.SetContext(t.Context())
	c.SetOut(&out)
	a := &admin{target: target{url: server.URL, tokenFile: token}, outputFlag: outputFlag{"text"}, yes: true}
	if err := (reconciliation{sweep: true}).run(c, a, fields{}); err != nil {
		t.Fatal(err)
	}
	if said := out.String(); !strings.Contains(said, "docs.x") || !strings.Contains(said, "1 rows deleted") || strings.Contains(said, "editor") {
		t.Errorf("it printed\n%s", said)
	}
}
