package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/conformance/runner"
)

func newList() *cobra.Command {
	var (
		selected selection
		output   string
	)
	c := &cobra.Command{
		Use:   "list",
		Short: "List the cases: suite, id, what each needs, and the rule that it proves",
		Example: `  authz-conformance list
  authz-conformance list --suite isolation
  authz-conformance list --kind directory_importer
  authz-conformance list --case B79 --output json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, cases, err := selected.of()
			if err != nil {
				return err
			}
			switch output {
			case "text":
				return listText(c.OutOrStdout(), cases)
			case "json":
				return listJSON(c.OutOrStdout(), cases)
			}
			return usageError{fmt.Errorf("--output is text or json, not %q", output)}
		},
	}
	selected.flags(c)
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	complete(c, "output", "text", "json")
	return c
}

func listText(w io.Writer, cases []runner.Case) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SUITE\tCASE\tNEEDS\tRULE")
	for _, c := range cases {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Suite, c.ID, strings.Join(c.Needs, " "), c.Rule)
	}
	return table.Flush()
}

type listedCase struct {
	Kind  string   `json:"kind"`
	Suite string   `json:"suite"`
	ID    string   `json:"id"`
	Needs []string `json:"needs"`
	Rule  string   `json:"rule"`
}

func listJSON(w io.Writer, cases []runner.Case) error {
	all := make([]listedCase, len(cases))
	for i, c := range cases {
		all[i] = listedCase{c.Kind, c.Suite, c.ID, c.Needs, c.Rule}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{"cases": all})
}

// selection is the flags that choose cases.
type selection struct {
	kinds, suites, cases, skip []string
}

func (s *selection) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&s.kinds, "kind", nil, "only these kinds of plugin: "+strings.Join(kinds, ", "))
	c.Flags().StringSliceVar(&s.suites, "suite", nil, "only these suites: "+strings.Join(runner.Suites(allCases()), ", "))
	c.Flags().StringSliceVar(&s.cases, "case", nil, "only these cases, e.g. B61,I05; an id also selects its variants")
	c.Flags().StringSliceVar(&s.skip, "skip", nil, "leave out these cases: a run that proves less")
	complete(c, "kind", kinds...)
	complete(c, "suite", runner.Suites(allCases())...)
	var known []string
	for _, one := range allCases() {
		known = append(known, one.ID+"\t"+one.Rule)
	}
	complete(c, "case", known...)
	complete(c, "skip", known...)
}

// of is the selection, and the cases of the kinds that it selects.
func (s *selection) of() (runner.Selection, []runner.Case, error) {
	chosen := runner.Selection{Suites: s.suites, IDs: s.cases, Skip: s.skip}
	cases, err := casesOf(s.kinds)
	if err != nil {
		return chosen, nil, err
	}
	if cases, err = chosen.Of(cases); err != nil {
		return chosen, nil, usageError{fmt.Errorf("%w\nRun 'authz-conformance list' to see them", err)}
	}
	return chosen, cases, nil
}

// complete gives the shell the values of a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails on an unknown flag only
}
