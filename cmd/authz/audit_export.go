package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

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

It ends a minute ago unless --to says otherwise: hosts whose clocks differ may still file
entries before that which would be passed over; --to 0s is now.`,
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

// auditPages reads the log from a position on (provider-api.md §7.4).
func auditPages(ctx context.Context, a *application, filter fields, from authz.AuditCursor) iter.Seq2[[]authz.AuditEntry, error] {
	return func(yield func([]authz.AuditEntry, error) bool) {
		asked := fields{"limit": pageSize}
		for name, v := range filter {
			asked[name] = v
		}
		for {
			asked["cursor"] = from
			var page struct{ Events []authz.AuditEntry }
			err := a.call(ctx, "listAuditEvents", fields{"filter": asked}, &page)
			if !yield(page.Events, err) || err != nil || len(page.Events) < pageSize {
				return
			}
			from = page.Events[len(page.Events)-1].Cursor()
		}
	}
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

func newAuditVerify() *cobra.Command {
	a := &admin{}
	var file, prior string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Verify the hash chain of the log",
		Long: `Verify that no entry of the log was changed, taken out or put in since it was written
(audit.hash_chain). --prior-hash verifies what follows the entry of that hash, such as the
last one of the export before. Entries cut off at the end, and a log that was hashed anew as
a whole, show only beside a hash that was kept elsewhere. Over the socket the host reads its log itself; with
--url the log is read here, and with -f an export is.`,
		Example: `  authz audit verify
  authz audit verify -f audit.ndjson --prior-hash e3a3c79f8f711f7ae28901cbad43d144e3a5fcd6b9b95225cff69139c2d228d2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			report, err := verifyAudit(c, a, file, prior)
			if err != nil {
				return err
			}
			if err := a.printed(c, report, func(w io.Writer) {
				if report.OK {
					fmt.Fprintf(w, "the chain holds: %d entries are part of it\n", report.Hashed)
				}
			}); err != nil || report.OK {
				return err
			}
			return fmt.Errorf("the chain is broken: %s at entry %d of those read", report.Reason, report.Index+1)
		},
	}
	a.reads(c)
	c.Flags().StringVarP(&file, "file", "f", "", "an export instead of the log, - for standard input")
	c.Flags().StringVar(&prior, "prior-hash", "", "the hash of the entry before the first")
	_ = c.MarkFlagFilename("file", "ndjson", "jsonl")
	_ = c.RegisterFlagCompletionFunc("prior-hash", cobra.NoFileCompletions)
	return c
}

func verifyAudit(c *cobra.Command, a *admin, file, prior string) (report authz.ChainReport, err error) {
	if file != "" {
		if err := a.outputFlag.check(); err != nil {
			return report, err
		}
		in := c.InOrStdin()
		if file != "-" {
			f, err := os.Open(file)
			if err != nil {
				return report, usageError{err}
			}
			defer f.Close()
			in = f
		}
		return authz.VerifyChain(exported(in), prior)
	}
	app, err := a.open(c.Context())
	if err != nil {
		return report, err
	}
	if !app.remote {
		p := fields{}
		if prior != "" {
			p["priorHash"] = prior
		}
		return report, app.long(c.Context(), "verifyAuditChain", p, &report)
	}
	return authz.VerifyChain(afterHash(auditPages(c.Context(), app, nil, authz.AuditCursor{}), prior), prior)
}

// exported reads the entries of an export.
func exported(in io.Reader) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		d := json.NewDecoder(bufio.NewReader(in))
		for n := 1; ; n++ {
			var e authz.AuditEntry
			err := d.Decode(&e)
			if err == io.EOF {
				return
			}
			if err != nil {
				err = usageError{fmt.Errorf("entry %d of the export cannot be read: %w", n, err)}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// afterHash are the entries that follow the one of a hash, all of them when it is
// "". It is an error when no entry has it.
func afterHash(pages iter.Seq2[[]authz.AuditEntry, error], hash string) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		found := hash == ""
		for page, err := range pages {
			if err != nil {
				yield(authz.AuditEntry{}, err)
				return
			}
			for _, e := range page {
				if !found {
					found = e.Hash == hash
					continue
				}
				if !yield(e, nil) {
					return
				}
			}
		}
		if !found {
			yield(authz.AuditEntry{}, authz.Rejected(authz.CodeNotFound, "no entry of the log has the hash %s", authz.Quote(hash)))
		}
	}
}
