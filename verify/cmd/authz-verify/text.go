package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

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
	if j := r.Judged; j != nil {
		fmt.Fprintf(w, "authz-verify: %s server functions: %s gated, %s exempt, %s findings, %s behind unknown wrappers\n",
			thousands(j.ServerFunctions), thousands(j.Gated), thousands(j.Exempt), thousands(j.Findings), thousands(j.UnknownWrappers))
	}
	if j := r.JudgedGo; j != nil {
		fmt.Fprintf(w, "authz-verify: %s Go server functions: %s gated, %s exempt, %s findings, %s not followed\n",
			thousands(j.ServerFunctions), thousands(j.Gated), thousands(j.Exempt), thousands(j.Findings), thousands(j.NotFollowed))
	}
	return w.Flush()
}

// thousands writes a count with a comma before every three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
