package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/internal/freeport"
)

const tutorial, tutorialPort = "../../docs/tutorial.md", "127.0.0.1:8087"

// A block of the tutorial is a file to write, a part of one to replace, or commands with
// what they print.
var tutorialBlock = regexp.MustCompile("(?s)(?:`([\\w.]+)`[^`\n]*:\n\n)?```(yaml replace|yaml|go|console) ?([\\w.]*)\n(.*?)```")

// Somebody who has the command and an empty folder follows the tutorial from its first line to
// its last, in a shell, and sees what it shows.
func TestTheTutorialLeadsFromAnEmptyFolderToAnApproval(t *testing.T) {
	page, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t)
	var written strings.Builder
	rest := string(page)
	for {
		at := tutorialBlock.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		part := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return rest[at[2*i]:at[2*i+1]]
		}
		written.WriteString(rest[:at[8]])
		switch kind := part(2); {
		case kind == "console":
			written.WriteString(r.follow(part(4)))
		case kind == "yaml replace":
			r.replace("notes.catalog.yaml", part(3), part(4))
			written.WriteString(part(4))
		case part(1) == "":
			t.Fatalf("nothing says which file this is:\n%s", part(4))
		default:
			r.write(part(1), part(4))
			written.WriteString(part(4))
		}
		rest = rest[at[9]:]
	}
	written.WriteString(rest)
	r.stop()
	if *update {
		if err := os.WriteFile(tutorial, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(written.String(), string(page)); d != "" {
		t.Errorf("run go test ./cmd/authz -run TestTheTutorial -update: %s", d)
	}
}

// reader is who follows the tutorial.
type reader struct {
	*shell
	port    string
	host    *running
	exports []string // what they typed before, which the shell remembers
	request string   // the id that was shown last
	me      string
}

func newReader(t *testing.T) *reader {
	s := newEmptyMachine(t)
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "az-") // an address of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	s.env = []string{"PATH=" + s.dir + ":/usr/bin:/bin", "HOME=" + s.dir, "XDG_RUNTIME_DIR=" + short}
	return &reader{shell: s, port: address, me: "local:" + me.Username}
}

func (r *reader) write(name, content string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(strings.ReplaceAll(content, tutorialPort, r.port)), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// replace puts a member of a file in the place of the one that is there, with all that is
// further in.
func (r *reader) replace(name, member, content string) {
	path := filepath.Join(r.dir, name)
	before, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	old := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(member) + `:.*\n(?:    .*\n)*`)
	if !old.Match(before) {
		r.t.Fatalf("%s has no %s", name, member)
	}
	r.write(name, string(old.ReplaceAllLiteral(before, []byte(content))))
}

// follow types the commands of a block and tells the block as it is seen now.
func (r *reader) follow(block string) string {
	var b strings.Builder
	for line := range strings.Lines(block) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !is {
			continue // what was printed when the page was written
		}
		b.WriteString("$ " + command + "\n")
		switch {
		case strings.HasPrefix(command, "export "):
			r.exports = append(r.exports, command)
		case command == "authz serve":
			r.serve()
		default:
			b.WriteString(r.typed(command))
		}
	}
	return b.String()
}

func (r *reader) serve() {
	r.stop()
	r.env = append(r.env, "AUTHZ_CONFIG="+filepath.Join(r.dir, "authz.yaml"))
	r.host = r.start("serve")
	r.host.waitFor(r.t, regexp.MustCompile(`ready: `))
}

func (r *reader) stop() {
	if r.host == nil {
		return
	}
	if err := r.host.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	<-r.host.done
	r.host = nil
}

// typed is what a command prints, of which what differs from day to day is evened out.
func (r *reader) typed(command string) string {
	script := strings.Join(append(r.exports, strings.ReplaceAll(command, " ID", " "+r.request)), "\n")
	cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(script, tutorialPort, r.port))
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 4 {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	text := string(out)
	if id := anyID.FindString(text); id != "" && strings.Contains(command, "request submit") {
		r.request = id
	}
	for _, even := range [][2]string{{r.port, tutorialPort}, {r.me, "local:you"}, {r.dir, "."}} {
		text = strings.ReplaceAll(text, even[0], even[1])
	}
	text = anyInstant.ReplaceAllString(anyID.ReplaceAllString(text, "ID"), "2026-11-28T12:00:00Z")
	return aligned(anyMillis.ReplaceAllString(text, "1795852800000"))
}

var anyMillis = regexp.MustCompile(`\b17\d{11}\b`)

// aligned lines columns up again after ids became shorter.
func aligned(text string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if !strings.HasPrefix(line, " ") {
			line = gap.ReplaceAllString(line, "\t")
		}
		fmt.Fprintln(w, line)
	}
	w.Flush()
	return b.String()
}

var gap = regexp.MustCompile(`  +`)
