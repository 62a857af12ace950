package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/catalog"
)

// verifyCase is a line of verify.jsonl. Which files are scanned, and what the lines
// of stderr are, is the command's matter, which replays the file for these.
type verifyCase struct {
	Document       json.RawMessage
	ImportManifest json.RawMessage
	Files          map[string]string
	Config         struct {
		GateNames, VisibilityNames, ServerFilePatterns []string
		ForbidClientIdentifiers, ImplicitImportAllow   []string
		ImportSource                                   ImportSource
		ImplicitImports                                Policy
		Include, Exclude                               []string
	}
	Expect struct {
		Scanned                            []string
		Issues                             []Finding
		ReferencedKeys, ReferencedPatterns []string
		SkippedFiles                       []SkippedFile
		ErrorCount, WarningCount, ExitCode int
		Stderr                             []string
	}
}

func TestVectorsVerify(t *testing.T) {
	vectors.Replay(t, "verify.jsonl", nil, func(t *testing.T, c verifyCase) {
		built, err := catalog.FromDocument(c.Document, catalog.DocumentOptions{Imports: c.ImportManifest})
		if err != nil {
			t.Fatal(err)
		}
		want := c.Expect
		got, err := Verify(context.Background(), Config{
			Catalog: built, Files: want.Scanned, Read: fromMap(c.Files),
			GateNames:               append(DefaultGateNames(), c.Config.GateNames...),
			VisibilityNames:         append(DefaultVisibilityNames(), c.Config.VisibilityNames...),
			ServerFilePatterns:      append(DefaultServerFilePatterns(), c.Config.ServerFilePatterns...),
			ForbidClientIdentifiers: c.Config.ForbidClientIdentifiers,
			ImportSource:            c.Config.ImportSource,
			ImplicitImports:         c.Config.ImplicitImports,
			ImplicitImportAllow:     c.Config.ImplicitImportAllow,
		})
		if err != nil {
			t.Fatal(err)
		}
		equal := func(what string, want, got any) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		// Lint is worded by the catalog, and in its order; so is the order of
		// imported keys. Everything else is in the order of a report
		// (spec: verifier §8).
		equal("issues", places(want.Issues), places(got.Issues))
		equal("order", sources(want.Issues), sources(got.Issues))
		equal("message shapes", shapes(want.Issues), shapes(got.Issues))
		equal("referenced keys", want.ReferencedKeys, got.ReferencedKeys)
		equal("referenced patterns", want.ReferencedPatterns, got.ReferencedPatterns)
		equal("skipped files", want.SkippedFiles, got.SkippedFiles)
		equal("counts", []int{want.ErrorCount, want.WarningCount, len(want.Scanned)}, []int{got.ErrorCount, got.WarningCount, got.FileCount})
		equal("exit code", want.ExitCode == 1, got.ErrorCount > 0)
	})
}

func fromMap(files map[string]string) func(string) ([]byte, error) {
	return func(file string) ([]byte, error) {
		text, ok := files[file]
		if !ok {
			return nil, fmt.Errorf("no file %q", file)
		}
		return []byte(text), nil
	}
}

func place(f Finding) string { return fmt.Sprintf("%s %s %s:%d", f.Severity, f.Rule, f.File, f.Line) }

func places(findings []Finding) []string {
	list := []string{}
	for _, f := range findings {
		list = append(list, place(f))
	}
	slices.Sort(list)
	return list
}

// sources are the places of findings in source files, in order.
func sources(findings []Finding) []string {
	list := []string{}
	for _, f := range findings {
		if f.File != CatalogFile {
			list = append(list, place(f))
		}
	}
	return list
}

// free is the free text of a message: the shapes (spec: verifier §5) without it.
var free = []struct {
	rule  Rule
	parts *regexp.Regexp
}{
	{RuleUnknownPattern, regexp.MustCompile(`^(".*" is a group, not a key — ).*( did you mean ".*"\?)$`)},
	{RuleImplicitImport, regexp.MustCompile(`^(.* neither owns nor imports\. ).*(will throw at runtime)$`)},
	{RuleVisibilityAsGate, regexp.MustCompile(`^(\w+\(\) is a visibility affordance, never a gate — )().*$`)},
	{RuleMissingCondition, regexp.MustCompile("^(.* (?:is|are) declared `requiresCondition: true` — ).*({ condition: \\(\\) => … }).*MissingConditionError.*$")},
	{RuleUngatedAction, regexp.MustCompile(`^(exported server action ".*" contains no gate — )().*$`)},
	{RuleClientReachableSecret, regexp.MustCompile(`^(".*" referenced in a "use client" module — )().*$`)},
	{RuleIgnoredFile, regexp.MustCompile(`^(authz-verify-ignore-file (?:without a reason|found here, but it is not in the file header, so it does nothing) — )().*$`)},
	{RuleStaleSuppression, regexp.MustCompile(`^(authz-verify-ignore(?:-next-line without a rule name| for ".*" (?:without a reason|suppresses nothing here)) — )().*$`)},
}

// hint is the part of a message that the catalog words.
var hint = regexp.MustCompile(` \(".*\)$`)

func shapes(findings []Finding) []string {
	list := []string{}
	for _, f := range findings {
		shape := f.Message
		for _, s := range free {
			if s.rule == f.Rule {
				shape = s.parts.ReplaceAllString(shape, "$1$2")
			}
		}
		switch f.Rule {
		case RuleCatalog:
			shape, _, _ = strings.Cut(shape, ": ")
		case RuleUnknownImport:
			shape = hint.ReplaceAllString(shape, "")
		}
		list = append(list, place(f)+" "+shape)
	}
	slices.Sort(list)
	return list
}

func exampleCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	in, err := catalog.ParseJSON([]byte(`{
		"namespaces": ["docs"],
		"permissions": {
			"docs.files.read": true, "docs.files.update_file": true,
			"docs.pay.read": true, "docs.pay.approve_payment": {"requiresCondition": true}, "docs.pay.refund_payment": {"requiresCondition": true}
		},
		"imports": {
			"zoom": {"permissions": {"zoom.meetings.*": true, "zoom.host": true}},
			"meet": {"permissions": {"meet.rooms.*": true}, "strict": true}
		}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	built, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return built
}
