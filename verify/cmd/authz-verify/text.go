package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
)

// writeJSON writes a report for programs: one object in one line
// (spec: verifier §8).
func writeJSON(out io.Writer, r *verify.Report) error {
	raw, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = out.Write(append(raw, '\n'))
	return err
}

// writeText writes a report for people (spec: verifier §8).
func writeText(out io.Writer, r *verify.Report) error {
	w := bufio.NewWriter(out)
	for _, issue := range r.Issues {
		mark := "⚠"
		if issue.Severity == authz.SeverityError {
			mark = "✖"
		}
		fmt.Fprintf(w, "%s [%s] %s", mark, issue.Rule, escape(issue.File))
		if issue.Line > 0 {
			fmt.Fprintf(w, ":%d", issue.Line)
		}
		fmt.Fprintf(w, " — %s\n", escape(issue.Message))
	}
	for _, skipped := range r.SkippedFiles {
		fmt.Fprintf(w, "○ [ignored] %s — %s\n", escape(skipped.File), escape(skipped.Reason))
	}
	fmt.Fprintf(w, "authz-verify: %d file(s), %d ignored, %d error(s), %d warning(s)\n", r.FileCount, len(r.SkippedFiles), r.ErrorCount, r.WarningCount)
	return w.Flush()
}
