package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	catalogBlock = regexp.MustCompile("(?s)```yaml catalog\n(.*?)```")
	anyID        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)
	wide         = regexp.MustCompile(`   +`)
	anyInstant   = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// A page of examples is what the commands print, and each command that an explanation
// shows is taken. What it grants, it allows.
func TestTheExamplesOfQuestionsAreTrue(t *testing.T) {
	for page, denials := range map[string]int{"explain": 10, "lookups": 0} {
		t.Run(page, func(t *testing.T) { examples(t, "../../docs/"+page+".md", denials) })
	}
}

func examples(t *testing.T, page string, denials int) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	s := consoleOver(t, catalogBlock.FindStringSubmatch(string(text))[1])
	shown := 0
	written := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		var b strings.Builder
		b.WriteString("```console\n")
		for line := range strings.Lines(consoleBlock.FindStringSubmatch(block)[1]) {
			command, is := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if !is {
				continue // what was printed when the page was written
			}
			b.WriteString("$ " + command + "\n")
			if command == "sleep 2" {
				time.Sleep(2 * time.Second)
				continue
			}
			args := shellWords(t, command)[1:]
			out := s.do(args...)
			if !slices.Contains([]string{"explain", "who-can", "what-can", "where-can"}, args[0]) {
				continue
			}
			if over, _, code := s.say("", s.over("url", args)...); code != 0 || !sameButCommands(out, over) {
				t.Errorf("over the network: %s", over)
			}
			b.WriteString(columns(anyInstant.ReplaceAllString(anyID.ReplaceAllString(out, "ID"), "2026-11-27T08:00:00Z")))
			if strings.HasPrefix(out, "DENIED") {
				shown++
				s.mend(t, args, out)
			}
		}
		return b.String() + "```"
	})
	if shown != denials {
		t.Errorf("%d denials", shown)
	}
	if *update {
		if err := os.WriteFile(page, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(written, string(text)); d != "" {
		t.Errorf("run go test ./cmd/authz -run TestTheExamplesOfQuestions -update: %s", d)
	}
}

// columns takes away what lined up ids that are not shown.
func columns(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			line = strings.TrimRight(wide.ReplaceAllString(strings.TrimSuffix(line, "\n"), "  "), " ") + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// mend runs every command that an explanation shows. After the first that is no request
// the answer is yes.
func (s *console) mend(t *testing.T, args []string, explained string) {
	t.Helper()
	_, shown, _ := strings.Cut(explained, "\nto change it")
	_, shown, _ = strings.Cut(shown, "\n")
	ran := 0
	for line := range strings.Lines(shown) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "  # ")
		words := shellWords(t, command)
		s.do(words[1:]...)
		if words[1] == "request" {
			continue
		}
		if ran++; ran > 1 {
			continue
		}
		if answer := s.do(append([]string{"check", "--fresh"}, args[1:]...)...); answer != "ALLOWED\n" {
			t.Errorf("after %s: %s%s", command, answer, s.do(args...))
		}
	}
	if ran == 0 {
		t.Errorf("nothing mends %s", explained)
	}
}

// What would be is told, and nothing is written.
func TestAnExplanationOfWhatWouldBe(t *testing.T) {
	s := newConsole(t)
	s.do("role", "create", "reader", "--pattern", "docs.files.read")
	s.do("group", "create", "staff")
	s.do("grant", "create", "group:staff", "--role", "reader")
	s.do("user", "groups", "ben", "staff")
	var all struct{ Grants []struct{ ID string } }
	s.read(&all, "grant", "list")
	ask := []string{"explain", "docs.files.read"}
	for _, c := range []struct {
		user, says string
		flags      []string
	}{
		{"ann", "DENIED", nil},
		{"ann", "ALLOWED", []string{"--with", "grant user:ann role reader"}},
		{"ann", "ALLOWED", []string{"--with", "grant user:ann docs.files.*"}},
		{"ann", "ALLOWED", []string{"--with", "groups staff"}},
		{"ann", "DENIED", []string{"--with", "groups staff", "--with", "revoke ann docs.*"}},
		{"ann", "note: with.grants[0] is about user:ben, and changes nothing for user:ann", []string{"--with", "grant user:ben docs.files.*"}},
		{"ben", "ALLOWED", nil},
		{"ben", "DENIED", []string{"--without", all.Grants[0].ID}},
		{"ben", "DENIED", []string{"--with", "groups"}},
		{"ben", "ALLOWED", nil},
	} {
		if out := s.do(append(append(ask, "--user", c.user), c.flags...)...); !strings.Contains(out, c.says) {
			t.Errorf("%s with %q: %s", c.user, c.flags, out)
		}
	}
}

// sameButCommands compares two explanations without the commands below them.
func sameButCommands(a, b string) bool {
	a, _, _ = strings.Cut(a, "to change it")
	b, _, _ = strings.Cut(b, "to change it")
	return a == b
}

// shellWords splits a command as a shell does, of words in single quotes at most.
func shellWords(t *testing.T, command string) (words []string) {
	t.Helper()
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	if len(words) == 0 || words[0] != "authz" {
		t.Fatalf("no command: %s", command)
	}
	return words
}
