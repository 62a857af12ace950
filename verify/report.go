package verify

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Rule names a rule (spec: verifier §5).
type Rule string

// The rules. RuleUncheckedGate is of Go sources and of Config.Exports, RuleUnknownWrapper
// of the latter.
const (
	RuleUnknownPattern        Rule = "unknown-pattern"
	RuleUnknownImport         Rule = "unknown-import"
	RuleImplicitImport        Rule = "implicit-import"
	RuleVisibilityAsGate      Rule = "visibility-as-gate"
	RuleMissingCondition      Rule = "missing-condition"
	RuleUngatedAction         Rule = "ungated-action"
	RuleClientReachableSecret Rule = "client-reachable-secret"
	RuleUnreferencedLeaf      Rule = "unreferenced-leaf"
	RuleIgnoredFile           Rule = "ignored-file"
	RuleStaleSuppression      Rule = "stale-suppression"
	RuleCatalog               Rule = "catalog"
	RuleUncheckedGate         Rule = "unchecked-gate"
	RuleUnknownWrapper        Rule = "unknown-wrapper"
)

// CatalogFile is the File of issues that belong to no source.
const CatalogFile = "<catalog>"

// Finding is one issue.
type Finding struct {
	Severity authz.Severity `json:"severity"`
	Rule     Rule           `json:"rule"`
	File     string         `json:"file"`
	Line     int            `json:"line"` // from 1; 0 means none
	Message  string         `json:"message"`

	// Column is from 1 in UTF-16 units, 0 means none. Instead are the names that
	// could replace an unknown literal, closest first. The JSON of a report leaves
	// both out.
	Column  int      `json:"column,omitempty"`
	Instead []string `json:"instead,omitempty"`

	// Beyond: other files had a say, so that a change of theirs may be why.
	Beyond bool `json:"beyond,omitempty"`
}

// SkippedFile is a file that its pragma takes out.
type SkippedFile struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// FileReport is what one file said: its findings in the order of issues
// (spec: verifier §8), and what it references. Its JSON holds all of it, for
// caches.
type FileReport struct {
	File     string    `json:"file"`
	Findings []Finding `json:"findings,omitempty"`

	// Keys and Patterns are the literals that recognised calls name, each once.
	// What a pattern matches is worked out when the report is concluded.
	Keys     []string `json:"keys,omitempty"`
	Patterns []string `json:"patterns,omitempty"`

	Skipped *SkippedFile `json:"skipped,omitempty"`

	// Judged counts what the file serves, with Config.Exports. Module is what the file
	// says to others until all are read; a report that Scan returns has none.
	Judged *Judged `json:"judged,omitempty"`
	Module *module `json:"module,omitempty"`
}

// Report is the outcome of a run (spec: verifier §8). Its lists are never nil.
type Report struct {
	Issues             []Finding
	ReferencedKeys     []string // ascending
	ReferencedPatterns []string // ascending
	SkippedFiles       []SkippedFile
	ErrorCount         int
	WarningCount       int
	FileCount          int // skipped files included

	Judged *Judged // nil without Config.Exports

	// JudgedGo is for whoever reads Go sources too to set; Conclude leaves it nil.
	JudgedGo *JudgedGo
}

// JudgedGo counts server functions of Go sources (spec: verifier §12.8).
type JudgedGo struct {
	ServerFunctions int `json:"serverFunctions"` // the sum of the next three
	Gated           int `json:"gated"`
	Exempt          int `json:"exempt"`
	Findings        int `json:"findings"`
	NotFollowed     int `json:"notFollowed"` // beside the others
}

// MarshalJSON writes the members (spec: verifier §8) and no others; lists are never
// null.
func (r *Report) MarshalJSON() ([]byte, error) {
	type issue struct {
		Severity authz.Severity `json:"severity"`
		Rule     Rule           `json:"rule"`
		File     string         `json:"file"`
		Line     int            `json:"line"`
		Message  string         `json:"message"`
	}
	issues := make([]issue, len(r.Issues))
	for i, f := range r.Issues {
		issues[i] = issue{f.Severity, f.Rule, f.File, f.Line, f.Message}
	}
	return authz.Marshal(struct {
		Issues             []issue       `json:"issues"`
		ReferencedKeys     []string      `json:"referencedKeys"`
		ReferencedPatterns []string      `json:"referencedPatterns"`
		SkippedFiles       []SkippedFile `json:"skippedFiles"`
		ErrorCount         int           `json:"errorCount"`
		WarningCount       int           `json:"warningCount"`
		FileCount          int           `json:"fileCount"`
		Judged             *Judged       `json:"judged,omitempty"`
		JudgedGo           *JudgedGo     `json:"judgedGo,omitempty"`
	}{issues, orEmpty(r.ReferencedKeys), orEmpty(r.ReferencedPatterns), orEmpty(r.SkippedFiles), r.ErrorCount, r.WarningCount, r.FileCount, r.Judged, r.JudgedGo})
}

var _ json.Marshaler = (*Report)(nil)

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// sorted is never nil.
func sorted[T cmp.Ordered](set map[T]bool) []T {
	return orEmpty(slices.Sorted(maps.Keys(set)))
}
