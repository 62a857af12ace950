package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/host/mesh/meshcases"
)

// The tables of the documentation are those of the suites.
func TestTheDocumentationListsTheCases(t *testing.T) {
	const file = "../../docs/conformance.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, cases := range [][]runner.Case{meshcases.Cases(), sink.Cases(), importer.Cases()} {
		table := "| Case | Rule | Needs |\n| --- | --- | --- |\n"
		for _, c := range cases {
			needs := ""
			for _, n := range c.Needs {
				needs += fmt.Sprintf("`%s` ", n)
			}
			table += strings.TrimSpace(fmt.Sprintf("| `%s` | %s | %s", c.ID, c.Rule, needs)) + " |\n"
		}
		if !strings.Contains(string(b), table) {
			t.Errorf("%s lacks this table:\n%s", file, table)
		}
	}
}
