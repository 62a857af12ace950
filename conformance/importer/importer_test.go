package importer_test

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/directory"
)

// The reference is sound, and offers all that a case may need.
func TestTheMemoryImporterPasses(t *testing.T) {
	for _, r := range over(nil, nil).Plan().Check(t.Context(), runner.Selection{Parallel: 8}, nil).Results {
		if r.Outcome != runner.Passed {
			t.Errorf("%s %s %s\n%v", r.Case.ID, r.Outcome, r.Reason, r.Failure)
		}
	}
}

// A directory that is large or slow is read for longer than a reader that stops may be
// kept.
func TestASlowImporterPasses(t *testing.T) {
	slow := reading(func(i *memoryImporter, ctx context.Context, r directory.Request) sequence {
		return func(yield func(directory.Entry, error) bool) {
			n := 0
			for e, err := range i.Import(ctx, r) {
				if n++; n%2000 == 0 {
					time.Sleep(500 * time.Millisecond)
				}
				if !yield(e, err) {
					return
				}
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		for _, r := range over(slow, nil).Plan().Check(t.Context(), runner.Selection{IDs: []string{"D11"}}, nil).Results {
			if r.Outcome != runner.Passed {
				t.Errorf("%s %s %s\n%v", r.Case.ID, r.Outcome, r.Reason, r.Failure)
			}
		}
	})
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
