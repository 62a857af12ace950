package condition_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/authzhost/authz/host/condition"
	"github.com/authzhost/authz/sdk/authz"
)

// The file of the page compiles, and what the page sends is allowed by it.
func TestThePageOfConditionsIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../docs/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string) string {
		found := regexp.MustCompile("(?s)```" + kind + "\n(.*?)```").FindSubmatch(page)
		if found == nil {
			t.Fatalf("the page has no %s", kind)
		}
		return string(found[1])
	}
	path := filepath.Join(t.TempDir(), "conditions.yaml")
	if err := os.WriteFile(path, []byte(block("yaml conditions")), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := condition.Load(path, testCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	var asked struct {
		Principal authz.Principal
		Key       string
		Context   json.RawMessage
	}
	if err := json.Unmarshal([]byte(block("json")), &asked); err != nil {
		t.Fatal(err)
	}
	in, err := s.Read(asked.Context)
	if err != nil {
		t.Fatal(err)
	}
	if holds, err := s.Holds(condition.With(t.Context(), in), asked.Key, asked.Principal, "*"); err != nil || !holds {
		t.Errorf("%v, %v", holds, err)
	}
}
