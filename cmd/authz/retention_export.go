package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newRetentionExport() *cobra.Command {
	a, f := &admin{}, &auditFlags{}
	var of string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write all entries that were copied as NDJSON",
		Long: `Write the entries that were copied, of one application or of all, to standard output: one JSON
object a line, oldest first. An export that was cut fails, and says after how many entries.`,
		Example: `  authz retention export > audit.ndjson
  authz retention export --application docs --from 30d > docs.ndjson`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("output") {
				return usageError{errors.New("an export is NDJSON: it takes no --output")}
			}
			filter, err := f.filter(c)
			if err != nil {
				return err
			}
			if of != "" {
				filter["application"] = of
			}
			h, err := a.service(c)
			if err != nil {
				return err
			}
			f.known(c, false)
			knownApplication(c, h, of)
			w := bufio.NewWriter(c.OutOrStdout())
			n := 0
			err = h.Stream(c.Context(), []string{"retention", "export"}, filter, func(line []byte) error {
				n++
				_, err := w.Write(line)
				return err
			})
			if err = errors.Join(err, w.Flush()); err == nil {
				fmt.Fprintf(c.ErrOrStderr(), "%d entries\n", n)
			}
			return err
		},
	}
	a.hostedOnly(c)
	_ = c.Flags().MarkHidden("output")
	f.add(c, a, "")
	c.Flags().Var(named{&of}, "application", "only those of this application")
	_ = c.RegisterFlagCompletionFunc("application", a.applicationIDs())
	return c
}
