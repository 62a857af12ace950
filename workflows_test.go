package authz_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestWorkflowsAreYAML: a workflow that cannot be parsed is silently never run.
func TestWorkflowsAreYAML(t *testing.T) {
	workflows := 0
	err := filepath.WalkDir(".github", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var members map[string]any
		if err := yaml.Unmarshal(text, &members); err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		if filepath.Dir(path) != filepath.Join(".github", "workflows") {
			return nil
		}
		workflows++
		for _, member := range []string{"on", "jobs"} {
			if members[member] == nil {
				t.Errorf("%s has no %s", path, member)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if workflows == 0 {
		t.Error("there is no workflow")
	}
}
