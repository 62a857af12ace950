package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// shell runs commands in one directory.
type shell struct {
	t      *testing.T
	dir    string
	binary string
	env    []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	dir, err := os.MkdirTemp("", "authz") // short: sockets live below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &shell{t, dir, filepath.Join(bin, "authz"), append(os.Environ(), "AUTHZ_PLUGIN_DIRS="+bin)}
}

// newEmptyMachine is a shell whose directory holds the program and nothing else,
// and whose environment says nothing.
func newEmptyMachine(t *testing.T) *shell {
	t.Helper()
	s := newShell(t)
	program, err := os.ReadFile(s.binary)
	if err != nil {
		t.Fatal(err)
	}
	s.binary = s.write("authz", string(program))
	s.env = []string{"PATH=/usr/bin:/bin"}
	return s
}

func (s *shell) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), s.binary, args...)
	cmd.Dir = s.dir
	cmd.Env = s.env
	return cmd
}

// run runs a command to its end.
func (s *shell) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// ok runs a command that must succeed.
func (s *shell) ok(args ...string) string {
	s.t.Helper()
	out, errs, code := s.run(args...)
	if code != 0 {
		s.t.Fatalf("authz %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// running is a command that goes on.
type running struct {
	*exec.Cmd
	out, errs buffer
	done      chan struct{}
}

type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (s *shell) start(args ...string) *running {
	s.t.Helper()
	r := &running{Cmd: s.command(args...), done: make(chan struct{})}
	r.Stdout, r.Stderr = &r.out, &r.errs
	if err := r.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = r.Wait(); close(r.done) }() // its exit code is looked at where it matters
	s.t.Cleanup(func() { _ = r.Process.Kill(); <-r.done })
	return r
}

func (r *running) waitFor(t *testing.T, what *regexp.Regexp) []string {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if m := what.FindStringSubmatch(r.out.String() + r.errs.String()); m != nil {
			return m
		}
		select {
		case <-r.done:
			t.Fatalf("it ended before it said %v:\n%s%s", what, r.out.String(), r.errs.String())
		default:
		}
	}
	t.Fatalf("it never said %v:\n%s%s", what, r.out.String(), r.errs.String())
	return nil
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// serveFile writes a configuration of one application and returns its path.
func (s *shell) serveFile(change func(string) string) string {
	s.t.Helper()
	s.write("docs.yaml", "namespaces: [docs]\npermissions: {docs.files.read: true}\n")
	s.write("secret", "a-secret-of-the-test")
	text := `
listen: 127.0.0.1:0
ops_listen: ""
run_dir: run
plugins:
  main: {plugin: memory}
applications:
  docs:
    catalog: docs.yaml
    storage: {driver: main, partition: docs}
    provider: {secret: "file:secret"}
`
	if change != nil {
		text = change(text)
	}
	return s.write("authz.yaml", text)
}

func (s *shell) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
	return path
}
