package authz_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// specDir holds the specification, a chapter a file.
const specDir = "docs/spec/"

const (
	number = `§(\d+(?:\.\d+)*)`
	span   = number + `(?:–` + number + `)?`
)

var (
	citation  = regexp.MustCompile(`spec: [a-z-]+ ` + span + `(?:, (?:[a-z-]+ )?` + span + `)*`)
	cited     = regexp.MustCompile(`(?:([a-z-]+) )?` + span)
	elsewhere = regexp.MustCompile(`(?:RFC|ASVS) [\d.]+ ` + number)
	link      = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	linkText  = regexp.MustCompile(`^([a-z-]+) ` + number + `$`)
	codeSpan  = regexp.MustCompile("`[^`]*`")
	heading   = regexp.MustCompile(`^#{1,6} (?:(\d+(?:\.\d+)*)\.? )?.*`)
)

// placeholders use the sign for something else.
var placeholders = map[string]string{
	"spec_test.go":           "references that do not resolve",
	"verify/corpus_test.go":  "the literal of a planted call",
	"verify/planted_test.go": "the literal of a planted call",
}

// superseded are words of the drafts that the specification came from.
var superseded = []string{"Decision:", "Later:", "contract.txt"}

// Code and tests cite the specification as "spec: storage §5", documents by a link.
// What they cite exists.
func TestEveryReferenceToTheSpecificationResolves(t *testing.T) {
	files := tracked(t)
	s := specification(files)
	for file, text := range files {
		if _, ok := placeholders[file]; ok {
			if !strings.Contains(text, "§") {
				t.Errorf("%s is no exception any more", file)
			}
			continue
		}
		for _, problem := range s.problems(file, text) {
			t.Error(problem)
		}
	}
}

func TestReferencesThatDoNotResolveAreFound(t *testing.T) {
	s := specification(map[string]string{
		specDir + "storage.md": "# Storage\n## 1. Rules\n### 1.1 Of `Open` (and more)\n## 2. Reads\n",
		specDir + "access.md":  "# Access\n## 1. Rules\n## 1. Rules\n```\n## 3. Not one\n```\n",
		"docs/cli.md":          "# Commands\n## The first\n",
	})
	for _, c := range []struct{ file, text, want string }{
		{"a.go", "// It rules (spec: storage §1.1, §2, access §1; spec: storage §1–§2).", ""},
		{"a.go", "// As RFC 9110 §13.1.1 has it.", ""},
		{"a.go", "// (§1)", "a section without its chapter"},
		{"a.go", "// (storage §1)", "a section without its chapter"},
		{"a.go", "// (spec: storage §3)", "storage §3 does not exist"},
		{"a.go", "// (spec: storage §1, §3)", "storage §3 does not exist"},
		{"a.go", "// (spec: storage §1–§3)", "storage §3 does not exist"},
		{"a.go", "// (spec: storage §1, access §1.1)", "access §1.1 does not exist"},
		{"a.go", "// (spec: access §3)", "access §3 does not exist"},
		{"a.go", "// (spec: cli §1)", "cli §1 does not exist"},
		{"a.go", "// Later: more.", `says "Later:"`},
		{"docs/a.md", "[storage §1.1](spec/storage.md#11-of-open-and-more), [more](spec/access.md#1-rules-1)", ""},
		{"docs/a.md", "[storage §1](spec/storage.md)", "spec/storage.md is not the place of storage §1"},
		{"docs/a.md", "[storage §1](spec/storage.md#2-reads)", "spec/storage.md#2-reads is not the place of storage §1"},
		{"docs/a.md", "[reads](spec/storage.md#3-writes)", "spec/storage.md#3-writes leads nowhere"},
		{"docs/a.md", "[events](spec/events.md)", "spec/events.md leads nowhere"},
		{"docs/a.md", "See spec: storage §1. (Code says `spec: storage §1`.)", "a section without a link"},
		{specDir + "access.md", "As §1 and [storage §2](storage.md#2-reads) say, and [commands](../cli.md#the-first). `f[§1](…)`", ""},
		{specDir + "access.md", "As §2 says.", "access §2 does not exist"},
		{specDir + "access.md", "As storage §1 says.", "storage §1 is not a link"},
		{specDir + "access.md", "[commands](../cli.md#the-last)", "../cli.md#the-last leads nowhere"},
		{specDir + "access.md", "**Decision:** so.", `says "Decision:"`},
	} {
		want := ""
		if c.want != "" {
			want = c.file + ":1: " + c.want
		}
		if diff := cmp.Diff(want, strings.Join(s.problems(c.file, c.text), "\n")); diff != "" {
			t.Errorf("%s: %s\n%s", c.file, c.text, diff)
		}
	}
}

// tracked reads every text file of the repository.
func tracked(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := map[string]string{}
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(file)
		switch info, missing := os.Lstat(file); {
		case missing != nil || !info.Mode().IsRegular():
		case err != nil:
			t.Fatal(err)
		case utf8.Valid(text):
			files[file] = string(text)
		}
	}
	return files
}

// documents are what links and citations lead to, by path.
type documents map[string]document

type document struct {
	sections map[string]string // the anchor of each numbered heading
	anchors  map[string]bool
}

func specification(files map[string]string) documents {
	s := documents{}
	for file, text := range files {
		if path.Ext(file) == ".md" && strings.HasPrefix(file, "docs/") {
			s[file] = outline(text)
		}
	}
	return s
}

// outline gives headings the anchors that GitHub gives them.
func outline(text string) document {
	d := document{sections: map[string]string{}, anchors: map[string]bool{}}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced {
			d.add(line)
		}
	}
	return d
}

// add takes a line and answers its anchor, if it is a heading.
func (d document) add(line string) string {
	m := heading.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return ""
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimLeft(m[0], "# "))
	anchor := plain
	for n := 1; d.anchors[anchor]; n++ {
		anchor = fmt.Sprintf("%s-%d", plain, n)
	}
	d.anchors[anchor] = true
	if m[1] != "" {
		d.sections[m[1]] = anchor
	}
	return anchor
}

// problems are the references of a file that lead nowhere.
func (s documents) problems(file, text string) []string {
	var found []string
	chapter, inside := strings.CutPrefix(file, specDir)
	chapter = strings.TrimSuffix(chapter, ".md")
	code := path.Ext(file) == ".go" || path.Ext(file) == ".proto"
	for n, line := range strings.Split(text, "\n") {
		tell := func(format string, args ...any) {
			found = append(found, fmt.Sprintf("%s:%d: ", file, n+1)+fmt.Sprintf(format, args...))
		}
		_, comment, _ := strings.Cut(line, "//")
		for _, word := range superseded {
			if inside && strings.Contains(line, word) || code && strings.Contains(comment, word) {
				tell("says %q", word)
			}
		}
		rest := line
		if path.Ext(file) == ".md" {
			rest = s.withoutLinks(file, line, tell)
			if !inside && citation.MatchString(codeSpan.ReplaceAllString(rest, "")) {
				tell("a section without a link")
			}
		}
		if !strings.Contains(rest, "§") {
			continue
		}
		rest = citation.ReplaceAllStringFunc(rest, func(c string) string {
			s.check(strings.TrimPrefix(c, "spec: "), "", tell)
			return ""
		})
		rest = elsewhere.ReplaceAllString(rest, "")
		if inside {
			rest = cited.ReplaceAllStringFunc(rest, func(c string) string {
				m := cited.FindStringSubmatch(c)
				if _, ok := s[specDir+m[1]+".md"]; ok {
					tell("%s is not a link", c)
				} else {
					s.check(strings.TrimPrefix(c, m[1]+" "), chapter, tell)
				}
				return ""
			})
		}
		if strings.Contains(rest, "§") {
			tell("a section without its chapter")
		}
	}
	return found
}

// check tells of the sections of a citation that do not exist. One that names no
// chapter is of the chapter before it.
func (s documents) check(citation, chapter string, tell func(string, ...any)) {
	for _, m := range cited.FindAllStringSubmatch(citation, -1) {
		if m[1] != "" {
			chapter = m[1]
		}
		for _, section := range m[2:] {
			if _, ok := s[specDir+chapter+".md"].sections[section]; section != "" && !ok {
				tell("%s §%s does not exist", chapter, section)
			}
		}
	}
}

// withoutLinks takes the links out of a line of Markdown. It tells of those into the
// specification and of all in it that lead nowhere, or to another section than their
// text says.
func (s documents) withoutLinks(file, line string, tell func(string, ...any)) string {
	masked := codeSpan.ReplaceAllStringFunc(line, func(c string) string { return strings.Repeat("x", len(c)) })
	rest, end := "", 0
	for _, at := range link.FindAllStringSubmatchIndex(masked, -1) {
		rest, end = rest+line[end:at[0]], at[1]
		text, target := line[at[2]:at[3]], line[at[4]:at[5]]
		to, anchor, _ := strings.Cut(target, "#")
		if strings.Contains(to, ":") {
			rest += text
			continue
		}
		to = path.Join(path.Dir(file), to)
		if !strings.HasPrefix(file, specDir) && !strings.HasPrefix(to, specDir) {
			rest += text
			continue
		}
		d, ok := s[to]
		switch m := linkText.FindStringSubmatch(text); {
		case !ok, anchor != "" && !d.anchors[anchor]:
			tell("%s leads nowhere", target)
		case m != nil && (to != specDir+m[1]+".md" || d.sections[m[2]] == "" || d.sections[m[2]] != anchor):
			tell("%s is not the place of %s", target, text)
		case m == nil:
			rest += text
		}
	}
	return rest + line[end:]
}

// Every chapter stands in the table of contents.
func TestTheSpecificationListsItsChapters(t *testing.T) {
	files := tracked(t)
	for file := range files {
		name, ok := strings.CutPrefix(file, specDir)
		if ok && name != "README.md" && !strings.Contains(files[specDir+"README.md"], "("+name+")") {
			t.Errorf("%s is not listed", name)
		}
	}
}
