package catalog

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// The page for people who write a catalog names every member that a file may have, and
// each of its files builds.
func TestThePageOfTheCatalogFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/catalog-file.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```yaml catalog\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		path := filepath.Join(t.TempDir(), "catalog.yaml")
		if err := os.WriteFile(path, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
	}
	prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(string(page), "")
	for _, shape := range []text.Shape{inputShape, blockShape, groupShape, leafShape, importShape, navigationShape, conventionsShape, constraintsShape,
		sodShape, scopeTypeShape, requestableShape, policyShape, promptShape, stageShape, predicateShape} {
		for _, member := range shape.Members {
			if !strings.Contains(prose, "`"+member+"`") && !strings.Contains(prose, "."+member+"`") && !strings.Contains(prose, "{"+member+":") {
				t.Errorf("the page does not name %s of %s", member, shape.What)
			}
		}
	}
}
