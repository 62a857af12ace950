package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite the table in docs/cli.md")

// commandTable has a row for every command that does something, with its first
// example.
func commandTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| Command | What it does | Example |\n| --- | --- | --- |\n")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		for _, child := range c.Commands() {
			walk(child)
		}
		if c.HasSubCommands() {
			return
		}
		example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
		if !strings.HasPrefix(example, c.CommandPath()) || c.Short == "" {
			t.Errorf("%s needs a Short, and an Example that begins with itself: %q", c.CommandPath(), example)
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", c.CommandPath(), c.Short, strings.ReplaceAll(example, "|", `\|`))
	}
	walk(newRoot())
	return b.String()
}

func TestTheDocumentedCommandsAreTheCommands(t *testing.T) {
	const path, begin, end = "../../docs/cli.md", "<!-- commands -->\n", "<!-- end of commands -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("the marks around the table are gone")
	}
	want := commandTable(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, table); d != "" {
		t.Errorf("run go test ./cmd/authz -run TestTheDocumentedCommands -update: %s", d)
	}
}

// TestExamplesAreCommands reads every example as a shell would begin to: what is
// shown must parse.
func TestExamplesAreCommands(t *testing.T) {
	quoted := strings.NewReplacer("'", "", `"`, "")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			walk(child)
		}
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " && ")
			line, _, _ = strings.Cut(line, " | ")
			line, _, _ = strings.Cut(line, " || ")
			line, _, _ = strings.Cut(line, " < ")
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " >> ")
			words := strings.Fields(quoted.Replace(line))
			if len(words) == 0 || words[0] != "authz" {
				continue
			}
			root := newRoot()
			found, args, err := root.Find(words[1:])
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if err := found.ParseFlags(args); err != nil {
				t.Errorf("%s: %v", line, err)
			} else if err := found.ValidateArgs(found.Flags().Args()); err != nil && !strings.Contains(line, "'") {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	walk(newRoot())
}
