package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/internal/freeport"
)

var (
	// A block of a page is a file to write, a part of one to replace, or commands with what
	// they print. A mark says where every host stops.
	readBlock = regexp.MustCompile("(?s)<!-- stop -->|(?:`([\\w.]+)`[^`\n]*:\n\n)?```(yaml replace|\\w+) ?([\\w.]*)\n(.*?)```")
	loopback  = regexp.MustCompile(`\b(?:127\.0\.0\.1|localhost):(\d{4})\b`)
	assigned  = regexp.MustCompile(`^((?:[A-Z_]+=\S+ )*)authz serve$`)
	// A host compares clocks every 10 s: whether it has done so is a matter of the day.
	clockCheck = regexp.MustCompile(`\{"name":"clock\.[^}]*\},`)
	// What a shell remembers until it ends.
	remembered = regexp.MustCompile(`^(?:export|umask) [^&|;]*$`)
	anySeconds = regexp.MustCompile(`(?m)^(ok\s+\S+\s+)[\d.]+s$`)
	anyMillis  = regexp.MustCompile(`\b17\d{11}\b`)
	anyLife    = regexp.MustCompile(`\b[A-Z2-7]{26}\.[0-9a-z]+`)
	gap        = regexp.MustCompile(`  +`)
)

// reader follows a page in a shell, from an empty folder on.
type reader struct {
	*shell
	hosts   map[string]*running // by the variables they were started with
	started []string            // the same in order: $A, $B
	ports   map[string]string   // those of the page, and those that are free here
	exports []string            // what they typed before, which the shell remembers
	reloads int                 // that every host was told of
	request string              // the id that was shown last
	printed map[string]string   // what a command printed last
	me      string
	folder  string // as the page shows theirs
}

// newReader is one on whose machine the tools of the page are; where they are not, the page
// is not followed.
func newReader(t *testing.T, tools ...string) *reader {
	t.Helper()
	path := []string{"/usr/bin", "/bin"}
	for _, tool := range tools {
		at, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("SKIPPED: %s is not installed, and the page uses it", tool)
		}
		if dir := filepath.Dir(at); !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	s := newEmptyMachine(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "az-") // an address of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	s.env = []string{"PATH=" + s.dir + ":" + strings.Join(path, ":"), "HOME=" + s.dir, "XDG_RUNTIME_DIR=" + short}
	return &reader{shell: s, hosts: map[string]*running{}, ports: map[string]string{}, printed: map[string]string{}, me: "local:" + me.Username, folder: "/home/you/notes"}
}

// read follows a page to its end, and holds it to what was seen.
func (r *reader) read(path string) {
	page, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range loopback.FindAllStringSubmatch(string(page), -1) {
		if r.ports[m[1]] == "" {
			port, err := freeport.Port()
			if err != nil {
				r.t.Fatal(err)
			}
			r.ports[m[1]] = fmt.Sprint(port)
		}
	}
	var written strings.Builder
	rest := string(page)
	for {
		at := readBlock.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		part := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return rest[at[2*i]:at[2*i+1]]
		}
		if part(2) == "" {
			r.stop()
			written.WriteString(rest[:at[1]])
			rest = rest[at[1]:]
			continue
		}
		written.WriteString(rest[:at[8]])
		seen := part(4)
		switch kind := part(2); {
		case kind == "console":
			seen = r.follow(part(4))
		case kind == "yaml replace":
			r.replace("notes.catalog.yaml", part(3), part(4))
		case part(1) != "":
			r.put(part(1), part(4))
		case kind == "yaml" || kind == "go":
			r.t.Fatalf("nothing says which file this is:\n%s", part(4))
		}
		written.WriteString(seen)
		rest = rest[at[9]:]
	}
	written.WriteString(rest)
	r.stop()
	if *update {
		if err := os.WriteFile(path, []byte(written.String()), 0o644); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(written.String(), string(page)); d != "" {
		r.t.Errorf("run go test ./cmd/authz -run %s -update: %s", r.t.Name(), d)
	}
}

// last is what a command of the page printed the last time.
func (r *reader) last(command string) string {
	out, ok := r.printed[command]
	if !ok {
		r.t.Errorf("the page has no %s", command)
	}
	return out
}

func (r *reader) here(text string) string {
	return loopback.ReplaceAllStringFunc(text, func(address string) string {
		host, port, _ := strings.Cut(address, ":")
		return host + ":" + r.ports[port]
	})
}

func (r *reader) put(name, content string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(r.here(content)), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// replace puts a member of a file in the place of the one that is there, with all that is
// further in.
func (r *reader) replace(name, member, content string) {
	before, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	old := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(member) + `:.*\n(?:    .*\n)*`)
	if !old.Match(before) {
		r.t.Fatalf("%s has no %s", name, member)
	}
	r.put(name, string(old.ReplaceAllLiteral(before, []byte(content))))
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
		serve := assigned.FindStringSubmatch(command)
		switch {
		case remembered.MatchString(command):
			r.exports = append(r.exports, command)
		case serve != nil:
			r.serve(serve[1])
		case command == "go mod init example.com/notes": // with what follows
		case strings.HasPrefix(command, "go mod edit -require github.com/authzhost/authz"): // with what follows
		case command == "go mod tidy":
			r.module()
		default:
			out := r.typed(command)
			r.printed[command] = out
			b.WriteString(out)
		}
	}
	return b.String()
}

// module makes the folder a module that requires this one, as it stands here: versions of
// it are published nowhere. Its other requirements are those of this one, so that nothing is
// looked for elsewhere.
func (r *reader) module() {
	root, err := filepath.Abs("../..")
	if err != nil {
		r.t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		r.t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		r.t.Fatal(err)
	}
	const us = "github.com/authzhost/authz"
	text := strings.Replace(string(mod), "module "+us+"\n", "module example.com/notes\n", 1)
	r.put("go.mod", text+"\nrequire "+us+" v0.0.0\n\nreplace "+us+" => "+root+"\n")
	r.put("go.sum", string(sum))
	env, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	v := strings.Split(string(env), "\n")
	r.env[0] += ":" + filepath.Join(v[0], "bin")
	r.env = append(r.env, "GOCACHE="+v[1], "GOMODCACHE="+v[2], "GOPROXY="+v[3], "GOFLAGS="+v[4]+" -mod=mod", "GOTOOLCHAIN=local")
}

// serve starts a host with these variables, in the place of one that has them.
func (r *reader) serve(variables string) {
	r.end(variables)
	if !slices.Contains(r.started, variables) {
		r.started = append(r.started, variables)
	}
	env := r.env
	r.env = append(slices.Clone(env), "AUTHZ_CONFIG="+filepath.Join(r.dir, "authz.yaml"))
	for _, v := range strings.Fields(variables) {
		r.env = append(r.env, strings.ReplaceAll(r.here(v), "$PWD", r.dir))
	}
	host := r.start("serve")
	r.env = env
	host.waitFor(r.t, regexp.MustCompile(`ready: `))
	r.hosts[variables] = host
}

func (r *reader) stop() {
	for variables := range r.hosts {
		r.end(variables)
	}
}

func (r *reader) end(variables string) {
	host := r.hosts[variables]
	if host == nil {
		return
	}
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	<-host.done
	delete(r.hosts, variables)
}

// typed is what a command prints, of which what differs from day to day is evened out.
func (r *reader) typed(command string) string {
	script := slices.Clone(r.exports)
	for i, variables := range r.started {
		if host := r.hosts[variables]; host != nil {
			script = append(script, fmt.Sprintf("%c=%d", 'A'+i, host.Process.Pid))
		}
	}
	script = append(script, r.here(strings.ReplaceAll(command, " ID", " "+r.request)))
	cmd := exec.Command("/bin/sh", "-c", strings.Join(script, "\n"))
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 4 {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	text := string(out)
	if strings.HasPrefix(command, "kill -HUP") {
		r.reloads++
		for _, host := range r.hosts {
			host.waitFor(r.t, regexp.MustCompile(fmt.Sprintf(`(?s)(?:reloaded secrets.*){%d}`, r.reloads)))
		}
	}
	if id := anyID.FindString(text); id != "" && strings.Contains(command, "request submit") {
		r.request = id
	}
	for shown, real := range r.ports {
		text = regexp.MustCompile(`:`+real+`\b`).ReplaceAllString(text, ":"+shown)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, r.me, "local:you"), r.dir, r.folder)
	text = anySeconds.ReplaceAllString(text, "${1}0.2s")
	text = clockCheck.ReplaceAllString(text, "")
	text = anyLife.ReplaceAllString(text, "INCARNATION")
	text = anyInstant.ReplaceAllStringFunc(anyID.ReplaceAllString(text, "ID"), shownInstant)
	return aligned(anyMillis.ReplaceAllString(text, "1795852800000"))
}

// shownInstant is noon for what was, and eight hours later for what will be.
func shownInstant(text string) string {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.After(time.Now().Add(time.Hour)) {
		return "2026-11-28T20:00:00Z"
	}
	return "2026-11-28T12:00:00Z"
}

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
