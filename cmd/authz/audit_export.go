package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/sdk/authz"
)

func newAuditExport() *cobra.Command {
	a, f := &admin{}, &auditFlags{}
	var after string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the log as NDJSON, from where the last export ended",
		Long: `Write the log to standard output, one JSON object a line, oldest first. It reads page by page
and says on standard error where to go on: with --after the next export, or this one after
a failure, continues there without a gap.

It ends a minute ago unless --to says otherwise: hosts whose clocks differ may still add
entries before that moment, and the export would miss them. --to 0s is now.`,
		Example: `  authz audit export > audit.ndjson
  authz audit export --after 1735689600000:5f0c1a9e >> audit.ndjson`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("output") {
				return usageError{errors.New("an export is NDJSON: it takes no --output")}
			}
			filter, err := f.filter(c)
			if err != nil {
				return err
			}
			from, err := parseCursor(after)
			if err != nil {
				return err
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			return exportAudit(c, app, filter, from)
		},
	}
	a.reads(c)
	_ = c.Flags().MarkHidden("output")
	f.add(c, a, "1m")
	c.Flags().StringVar(&after, "after", "", "where the last export ended, as it said: AT:ID")
	_ = c.RegisterFlagCompletionFunc("after", cobra.NoFileCompletions)
	return c
}

func exportAudit(c *cobra.Command, app *application, filter fields, from authz.AuditCursor) error {
	w := bufio.NewWriter(c.OutOrStdout())
	written, n, head := from, 0, ""
	var failed error
	for page, err := range auditPages(c.Context(), app, filter, from) {
		if failed = err; err != nil {
			break
		}
		for _, e := range page {
			body, err := authz.Marshal(e)
			if err != nil {
				return err
			}
			_, _ = w.Write(append(body, '\n')) // Flush tells
		}
		if failed = w.Flush(); failed != nil {
			break
		}
		if len(page) > 0 {
			last := page[len(page)-1]
			written, head, n = last.Cursor(), last.Hash, n+len(page)
		}
	}
	if failed != nil {
		return fmt.Errorf("%d entries were written, go on with --after %s: %w", n, cursorText(written), failed)
	}
	errs := c.ErrOrStderr()
	fmt.Fprintf(errs, "%d entries written, go on with --after %s\n", n, cursorText(written))
	if head != "" {
		fmt.Fprintf(errs, "the hash of the last one, to be kept elsewhere: %s\n", head)
	}
	return nil
}

func auditPages(ctx context.Context, a *application, filter fields, from authz.AuditCursor) iter.Seq2[[]authz.AuditEntry, error] {
	return pages.Audit(ctx, within{a, callTimeout}, filter, from)
}

func cursorText(c authz.AuditCursor) string { return fmt.Sprintf("%d:%s", c.At, c.ID) }

func parseCursor(text string) (authz.AuditCursor, error) {
	if text == "" {
		return authz.AuditCursor{}, nil
	}
	at, id, ok := strings.Cut(text, ":")
	ms, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return authz.AuditCursor{}, usageError{fmt.Errorf("--after %q must be AT:ID, as an export says it at its end", text)}
	}
	return authz.AuditCursor{At: ms, ID: id}, nil
}
