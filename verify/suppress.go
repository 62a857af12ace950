package verify

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	pragmaNextLine = "authz-verify-ignore-next-line"
	pragmaLine     = "authz-verify-ignore-line"
)

// Suppression is a line pragma (spec: verifier §7.2). Rule and Reason are ""
// where it names none; Line is its own.
type Suppression struct {
	Rule   Rule
	Reason string
	Line   int
}

// FindLineSuppressions finds the line pragmas of a source by the line that they
// apply to, in source order. It is textual: what stands before the first "//" of a
// line is not looked at.
func FindLineSuppressions(source string) map[int][]Suppression {
	found := map[int][]Suppression{}
	if !strings.Contains(source, pragmaMark) {
		return found
	}
	line := 0
	for text := range strings.SplitSeq(strings.TrimPrefix(source, bom), "\n") {
		line++
		code, comment, ok := strings.Cut(text, "//")
		if !ok {
			continue
		}
		word, rest, ok := pragmaIn(comment)
		if !ok {
			continue
		}
		target := line
		if word == pragmaNextLine || strings.TrimSpace(code) == "" {
			target++
		}
		s := Suppression{Line: line}
		if words := strings.Fields(rest); len(words) > 0 {
			s.Rule, s.Reason = Rule(words[0]), strings.Join(words[1:], " ")
		}
		found[target] = append(found[target], s)
	}
	return found
}

// pragmaIn finds the first whole pragma word and what follows it.
func pragmaIn(comment string) (word, rest string, ok bool) {
	for from := 0; ; {
		at := strings.Index(comment[from:], "authz-verify-ignore-")
		if at < 0 {
			return "", "", false
		}
		at += from
		for _, word := range []string{pragmaNextLine, pragmaLine} {
			rest, found := strings.CutPrefix(comment[at:], word)
			if found && startsWord(comment[:at]) && endsWord(rest) {
				return word, rest, true
			}
		}
		from = at + 1
	}
}

func startsWord(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
}

func endsWord(after string) bool {
	r, _ := utf8.DecodeRuneInString(after)
	return after == "" || unicode.IsSpace(r)
}

// canSuppress says whether a line pragma can silence the rule.
func canSuppress(rule Rule) bool {
	switch rule {
	case RuleUnreferencedLeaf, RuleIgnoredFile, RuleStaleSuppression, RuleCatalog:
		return false
	}
	return true
}

// Suppress leaves out the findings of one file that its line pragmas silence, and
// appends a finding for each pragma that is not right.
func Suppress(file string, findings []Finding, pragmas map[int][]Suppression) []Finding {
	if len(pragmas) == 0 {
		return findings
	}
	used := map[[2]int]bool{} // target line, index
	findings = slices.DeleteFunc(findings, func(f Finding) bool {
		if !canSuppress(f.Rule) {
			return false
		}
		i := slices.IndexFunc(pragmas[f.Line], func(s Suppression) bool { return s.Rule == f.Rule })
		if i >= 0 {
			used[[2]int{f.Line, i}] = true
		}
		return i >= 0
	})
	for _, target := range slices.Sorted(maps.Keys(pragmas)) {
		for i, s := range pragmas[target] {
			warn := func(message string) {
				findings = append(findings, Finding{
					Severity: authz.SeverityWarning, Rule: RuleStaleSuppression, File: file, Line: s.Line, Message: message,
				})
			}
			if s.Rule == "" {
				warn("authz-verify-ignore-next-line without a rule name — name the rule it suppresses (e.g. `implicit-import`), " +
					"so that it cannot silence an unrelated finding, and say why")
				continue
			}
			named := "authz-verify-ignore for " + spell.Quote(string(s.Rule))
			if s.Reason == "" {
				warn(named + " without a reason — say why this call site is exempt")
			}
			if !used[[2]int{target, i}] {
				warn(named + " suppresses nothing here — the finding is gone, so remove the pragma")
			}
		}
	}
	return findings
}
