package importer_test

import (
	"regexp"
	"testing"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/conformance/runner"
)

// The reference is sound, and offers all that a case may need.
func TestTheMemoryImporterPasses(t *testing.T) {
	for _, r := range over(nil, nil).Plan().Check(t.Context(), runner.Selection{Parallel: 8}, nil).Results {
		if r.Outcome != runner.Passed {
			t.Errorf("%s %s %s\n%v", r.Case.ID, r.Outcome, r.Reason, r.Failure)
		}
	}
}

func TestEveryCaseHasANumberOfItsOwn(t *testing.T) {
	seen, shape := map[string]bool{}, regexp.MustCompile(`^D\d\d$`)
	for _, c := range importer.Cases() {
		if seen[c.ID] || !shape.MatchString(c.ID) || c.Rule == "" || c.Suite != importer.Suite || c.Kind != "directory_importer" {
			t.Errorf("%+v", c)
		}
		seen[c.ID] = true
	}
}
