package authz_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every excerpt in these guides says which file of its example it is from, and
// stands there as it does in the guide.
func TestTheExcerptsOfTheGuidesStandInTheirExamples(t *testing.T) {
	excerpt := regexp.MustCompile("(?s)(?:<!-- from (\\S+) -->\n)?```go\n(.*?)```")
	for guide, example := range map[string]string{
		"writing-a-driver.md":    "examples/vendor-driver",
		"writing-a-sink.md":      "examples/vendor-sink",
		"writing-an-importer.md": "examples/vendor-importer",
		"testing-your-app.md":    "sdk/authztest",
		"middleware.md":          "sdk",
		"checks.md":              "sdk",
	} {
		text, err := os.ReadFile(filepath.Join("docs", guide))
		if err != nil {
			t.Fatal(err)
		}
		excerpts := excerpt.FindAllStringSubmatch(string(text), -1)
		if len(excerpts) == 0 {
			t.Fatalf("%s: no excerpts found", guide)
		}
		for _, e := range excerpts {
			if e[1] == "" && guide == "checks.md" {
				continue // a few lines, which the text around them completes
			}
			if e[1] == "" {
				t.Errorf("%s: an excerpt does not say which file it is from:\n%s", guide, e[2])
				continue
			}
			source, err := os.ReadFile(filepath.Join(example, e[1]))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(source), e[2]) {
				t.Errorf("%s no longer holds what %s says:\n%s", e[1], guide, e[2])
			}
		}
	}
}
