package main

import (
	"encoding/json"
	"io"
	"net/url"
	"path"

	"github.com/authzhost/authz/verify"
)

// The parts of SARIF 2.1.0 that a code host reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
		Properties  *sarifProperties  `json:"properties,omitempty"`
	}
	sarifProperties struct {
		Judged   *verify.Judged   `json:"judged,omitempty"`
		JudgedGo *verify.JudgedGo `json:"judgedGo,omitempty"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool          `json:"executionSuccessful"`
		ExitCode            int           `json:"exitCode"`
		Notifications       []sarifNotice `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotice struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// ruleTexts say what each rule is about, in the order of the table
// (spec: verifier §5).
var ruleTexts = []struct{ id, text string }{
	{"unknown-pattern", "A permission key or pattern that the catalog does not declare."},
	{"unknown-import", "A permission key or pattern beyond what the catalog imports."},
	{"implicit-import", "A permission of a namespace that the catalog neither owns nor imports."},
	{"visibility-as-gate", "A visibility probe in a server file, where only a gate decides."},
	{"missing-condition", "A gate on a conditional permission without its condition."},
	{"ungated-action", "An exported server function without a gate."},
	{"client-reachable-secret", "A forbidden identifier in a module that reaches the browser."},
	{"unknown-wrapper", "A wrapper around server functions that is not declared."},
	{"unchecked-gate", "A gate or visibility call whose decision is dropped."},
	{"unreferenced-leaf", "A permission that no gate and no navigation item refers to."},
	{"ignored-file", "A file pragma without a reason, or without effect."},
	{"stale-suppression", "A line pragma that is incomplete or suppresses nothing."},
	{"catalog", "A breach of the catalog's conventions."},
}

// writeSARIF writes a report for code hosts. What is found in the catalog is placed
// at its document, because a place is what they show a result by.
func writeSARIF(out io.Writer, r *verify.Report, catalogPath string) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "authz-verify", Version: version}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: true, ExitCode: exitOf(r)}},
		ColumnKind:  "utf16CodeUnits",
		Results:     []sarifResult{},
	}
	if r.Judged != nil || r.JudgedGo != nil {
		run.Properties = &sarifProperties{r.Judged, r.JudgedGo}
	}
	index := map[string]int{}
	for i, rule := range ruleTexts {
		index[rule.id] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.id, sarifText{rule.text}})
	}
	for _, issue := range r.Issues {
		file := issue.File
		if file == verify.CatalogFile {
			file = catalogPath
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: string(issue.Rule), RuleIndex: index[string(issue.Rule)], Level: string(issue.Severity),
			Message:   sarifText{escape(issue.Message)},
			Locations: []sarifLocation{place(file, issue.Line, issue.Column)},
		})
	}
	for _, skipped := range r.SkippedFiles {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotice{
			Level: "note", Message: sarifText{"ignored: " + escape(skipped.Reason)}, Locations: []sarifLocation{place(skipped.File, 0, 0)},
		})
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// place is a file and a line of it, or the whole file. Relative paths become
// relative references.
func place(file string, line, column int) sarifLocation {
	file = path.Clean(file)
	uri := url.URL{Path: file}
	if path.IsAbs(file) {
		uri.Scheme = "file"
	}
	l := sarifLocation{sarifPhysical{Artifact: sarifArtifact{uri.String()}}}
	if line > 0 {
		l.Physical.Region = &sarifRegion{line, column}
	}
	return l
}
