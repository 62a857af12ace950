package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilePragmas(t *testing.T) {
	effective := func(reason string, line int) *IgnorePragma {
		return &IgnorePragma{Reason: reason, Line: line, Effective: true}
	}
	misplaced := func(reason string, line int) *IgnorePragma { return &IgnorePragma{Reason: reason, Line: line} }
	for _, c := range []struct {
		name, text string
		want       *IgnorePragma
	}{
		{"none", "code()", nil},
		{"line comment", "// authz-verify-ignore-file one  two \ncode()", effective("one  two", 1)},
		{"block comment", "/* authz-verify-ignore-file why */ code()", effective("why", 1)},
		{"doc comment", "\n/**\n * A.\n * authz-verify-ignore-file why\n */\ncode()", effective("why", 4)},
		{"continuation without a star", "/*\n authz-verify-ignore-file why*/\ncode()", effective("why", 2)},
		{"below directives", "'use server' // a\n\"use x\";\n// authz-verify-ignore-file why\r\ncode()", effective("why", 3)},
		{"between directives", "'use server'\n// authz-verify-ignore-file why\n'use x'\ncode()", effective("why", 2)},
		{"trailing a directive", "'use server' // authz-verify-ignore-file why", effective("why", 1)},
		{"shebang and mark", bom + "#!/bin/x\n// authz-verify-ignore-file why", effective("why", 2)},
		{"shebang with what looks like a block comment", "#!/bin/x --allow=/tmp/*\n// authz-verify-ignore-file why\ncode()", effective("why", 2)},
		{"shebang with what looks like a pragma", "#!/bin/x // authz-verify-ignore-file why\ncode()", nil},
		{"no reason", "// authz-verify-ignore-file\ncode()", effective("", 1)},
		{"no reason in a block", "/* authz-verify-ignore-file*/\ncode()", effective("", 1)},
		{"only comments", "// a\n\n// authz-verify-ignore-file why", effective("why", 3)},
		{"below a statement", "code()\n// authz-verify-ignore-file why", misplaced("why", 2)},
		{"trailing a statement", "code() // authz-verify-ignore-file why", misplaced("why", 1)},
		{"the first misplaced", "code()\n// authz-verify-ignore-file a\n// authz-verify-ignore-file b", misplaced("a", 2)},
		{"trailing code behind a block comment", "/* x */ import a from 'a'; // authz-verify-ignore-file why\ncode()", effective("why", 1)},
		{"trailing code behind the end of a longer one", "'use server'\n/* x\n */ code() /* authz-verify-ignore-file why */", effective("why", 3)},
		{"below code behind a block comment", "/* x */ code()\n// authz-verify-ignore-file why", misplaced("why", 2)},
		{"trailing code below a block comment", "/* x */\ncode() // authz-verify-ignore-file why", misplaced("why", 2)},
		{"in a string behind a block comment", "/* x */ f('// authz-verify-ignore-file why')", nil},
		{"inside code", "function f(a /* authz-verify-ignore-file why */) {}", misplaced("why", 1)},
		{"inside JSX", "const a = <A>{/* authz-verify-ignore-file why */}</A>", misplaced("why", 1)},
		{"prose", "// see authz-verify-ignore-file\n/* a\n * not authz-verify-ignore-file why */", nil},
		{"the word goes on", "// authz-verify-ignore-filex why\n// authz-verify-ignore-file-x why", nil},
		{"look-alikes", "const a = `\n// authz-verify-ignore-file a\n` + '// authz-verify-ignore-file b' + /\\/\\/ authz-verify-ignore-file/\n" +
			"f(`${x}\n// authz-verify-ignore-file ${y}\n// authz-verify-ignore-file c`)", nil},
		{"look-alike in JSX text", "const a = <A>\n// authz-verify-ignore-file why\n</A>", nil},
		{"code", "x = authz-verify-ignore-file", nil},
		{"a look-alike before a real one", "a = '// authz-verify-ignore-file a'\n// authz-verify-ignore-file b", misplaced("b", 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FindIgnorePragma(c.text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestFilesThatArePragmaedOutSayNothing(t *testing.T) {
	report, found := scan(t, Config{}, "a.ts", "// authz-verify-ignore-file\ncan(\"docs.files.read\"); can("+bad+") // authz-verify-ignore-line x")
	if diff := cmp.Diff([]string{"ignored-file:1:0"}, found); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]SkippedFile{{File: "a.ts", Reason: "(no reason given)"}}, report.SkippedFiles); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if len(report.ReferencedKeys) != 0 {
		t.Errorf("references %v, want none", report.ReferencedKeys)
	}
	_, found = scan(t, Config{}, "a.ts", "can("+bad+")\n// authz-verify-ignore-file late")
	if diff := cmp.Diff([]string{"ignored-file:2:0", "unknown-pattern:1:5"}, found); diff != "" {
		t.Errorf("misplaced (-want +got):\n%s", diff)
	}
}

func TestLinePragmas(t *testing.T) {
	const why = " unknown-pattern why"
	for _, c := range []ruleCase{
		{name: "next line", text: "// authz-verify-ignore-next-line" + why + "\ncan(" + bad + ")\ncan(" + bad + ")", want: []string{"unknown-pattern:3:5"}},
		{name: "next line after code", text: "x() // authz-verify-ignore-next-line" + why + "\ncan(" + bad + ")"},
		{name: "own line", text: "can(" + bad + ") // authz-verify-ignore-line" + why},
		{name: "own line alone", text: "  // authz-verify-ignore-line" + why + "\ncan(" + bad + ")"},
		{name: "every issue of the rule", text: "can(" + bad + ", " + bad + ", \"a.b\") // authz-verify-ignore-line" + why, want: []string{"implicit-import:1:43"}},
		{name: "anywhere in the text", text: "can(" + bad + ") // see here: authz-verify-ignore-line" + why},
		{name: "only after the first slashes", text: "can(" + bad + ", 'http://x') // authz-verify-ignore-line" + why},
		{name: "block comments do not count", text: "can(" + bad + ") /* authz-verify-ignore-line" + why + " */", want: []string{"unknown-pattern:1:5"}},
		{name: "the word ends there", text: "can(" + bad + ") // authz-verify-ignore-lines" + why, want: []string{"unknown-pattern:1:5"}},
		{name: "only the first", text: "can(" + bad + ") // authz-verify-ignore-line x y authz-verify-ignore-line" + why,
			want: []string{"unknown-pattern:1:5", "stale-suppression:1:0"}},
		{name: "no rule", text: "can(" + bad + ") // authz-verify-ignore-line", want: []string{"unknown-pattern:1:5", "stale-suppression:1:0"}},
		{name: "no reason", text: "can(" + bad + ") // authz-verify-ignore-line unknown-pattern", want: []string{"stale-suppression:1:0"}},
		{name: "no reason and stale", text: "// authz-verify-ignore-line unknown-pattern", want: []string{"stale-suppression:1:0", "stale-suppression:1:0"}},
		{name: "the second of two is stale", text: "// authz-verify-ignore-next-line" + why + "\ncan(" + bad + ") // authz-verify-ignore-line" + why,
			want: []string{"stale-suppression:2:0"}},
		{name: "stacked ones do not chain", text: "// authz-verify-ignore-next-line" + why + "\n// authz-verify-ignore-next-line" + why + "\ncan(" + bad + ")",
			want: []string{"stale-suppression:1:0"}},
		{name: "rules that cannot be suppressed", text: "can() // authz-verify-ignore-line unreferenced-leaf why", want: []string{"stale-suppression:1:0"}},
		{name: "CRLF", text: "// authz-verify-ignore-next-line" + why + "\r\ncan(" + bad + ")\r\n"},
		{name: "a lone CR ends no line", text: "can(1);\rcan(" + bad + ") // authz-verify-ignore-line" + why},
	} {
		c.run(t, Config{})
	}
	for rule, text := range map[Rule]string{
		RuleUnknownImport: `can("zoom.x.y")`, RuleImplicitImport: `can("a.b.c")`, RuleVisibilityAsGate: `holds("docs.files.read")`,
		RuleMissingCondition: `can("docs.pay.approve_payment")`, RuleUngatedAction: `export async function f() {}`, RuleClientReachableSecret: `KEY`,
	} {
		ruleCase{name: string(rule), text: "'use server'\n'use client'\n" + text + " // authz-verify-ignore-line " + string(rule) + " why"}.
			run(t, Config{ForbidClientIdentifiers: []string{"KEY"}})
	}
	got := FindLineSuppressions(bom + "// authz-verify-ignore-line a b  c\nx // authz-verify-ignore-next-line\ny // authz-verify-ignore-line d")
	want := map[int][]Suppression{2: {{Rule: "a", Reason: "b c", Line: 1}}, 3: {{Line: 2}, {Rule: "d", Line: 3}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("suppressions (-want +got):\n%s", diff)
	}
}

func TestIssuesComeInTheOrderOfTheSpec(t *testing.T) {
	text := strings.Join([]string{
		`'use server'`,
		`'use client'`,
		`export async function late() {}`,
		`KEY(can(both("docs.pay.approve_payment", "docs.x"), "docs.y"))`,
		`// authz-verify-ignore-line ungated-action none`,
		`// authz-verify-ignore-file late`,
	}, "\n")
	_, got := scan(t, Config{ForbidClientIdentifiers: []string{"KEY"}, GateNames: []string{"can", "both"}, VisibilityNames: []string{"both"}}, "a.ts", text)
	want := []string{"ignored-file:6:0", "client-reachable-secret:4:1", "unknown-pattern:4:53", "unknown-pattern:4:42", "visibility-as-gate:4:9",
		"missing-condition:4:9", "ungated-action:3:1", "stale-suppression:5:0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
