package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/sdk/provider"
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
			f.known(c)
			h.known(c, of)
			w := bufio.NewWriter(c.OutOrStdout())
			n := 0
			err = h.stream(c.Context(), []string{"retention", "export"}, filter, func(line []byte) error {
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

// stream calls row for each line of an answer in NDJSON but the last, which says how
// many there are (hosted-api.md §15). It has no bound in time: ctx ends it. A line is
// bounded as another answer is, and valid until row returns.
func (h *hosted) stream(ctx context.Context, path []string, query fields, row func(line []byte) error) error {
	req, err := h.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/x-ndjson, application/json")
	answer, err := unredirected(h.over).Do(req)
	if err != nil {
		return &provider.TransportError{Message: fmt.Sprintf("%s cannot be asked: %v", h.url, errors.Unwrap(err)), Cause: err}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxHosted)) // what did not arrive is no answer of the API
		return failedHosted(h.url, answer, text)
	}
	lines := bufio.NewReaderSize(answer.Body, maxHosted)
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return &provider.TransportError{Message: fmt.Sprintf("entry %d of %s is longer than %d MiB: that is no audit entry", n+1, h.url, maxHosted>>20), Cause: err}
		}
		if err != nil {
			return &provider.TransportError{Message: fmt.Sprintf("the answer of %s broke off after %d entries: what is missing is not known. Run it again", h.url, n), Cause: err}
		}
		var last struct {
			End   bool
			Count int
		}
		if bytes.HasPrefix(line, []byte(`{"end":`)) && json.Unmarshal(line, &last) == nil && last.End {
			if last.Count != n {
				return fmt.Errorf("%s announced %d entries and sent %d: run it again", h.url, last.Count, n)
			}
			return nil
		}
		if err := row(line); err != nil {
			return err
		}
	}
}
