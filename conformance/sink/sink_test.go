package sink_test

import (
	"regexp"
	"testing"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/conformance/sink"
)

// The reference is sound, and offers all that a case may need.
func TestTheMemorySinkPasses(t *testing.T) {
	for _, r := range over(nil, nil).Plan().Check(t.Context(), runner.Selection{Parallel: 8}, nil).Results {
		if r.Outcome != runner.Passed {
			t.Errorf("%s %s %s\n%v", r.Case.ID, r.Outcome, r.Reason, r.Failure)
		}
	}
}

func TestEveryCaseHasANumberOfItsOwn(t *testing.T) {
	seen, shape := map[string]bool{}, regexp.MustCompile(`^W\d\d$`)
	for _, c := range sink.Cases() {
		if seen[c.ID] || !shape.MatchString(c.ID) || c.Rule == "" || c.Suite != sink.Suite || c.Kind != "metrics_sink" {
			t.Errorf("%+v", c)
		}
		seen[c.ID] = true
	}
}
