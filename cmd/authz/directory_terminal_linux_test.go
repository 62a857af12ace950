package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// newTerminal is a pseudo-terminal: what is written to the file shows on the screen.
func newTerminal(t *testing.T) (file *os.File, screen *buffer) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	var locked, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, far.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	if file, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	screen = &buffer{}
	go func() { _, _ = io.Copy(screen, far) }() // it ends with the last who has the terminal open
	return file, screen
}

// TestAnImportTellsATerminalHowFarItIs and nobody else.
func TestAnImportTellsATerminalHowFarItIs(t *testing.T) {
	s := newShell(t)
	gate := filepath.Join(s.dir, "gate")
	lines := []string{`{"begin":{"datasets":["users"],"expected":1600}}`}
	for i := range 1500 {
		lines = append(lines, fmt.Sprintf(`{"user":{"userId":"p%d"}}`, i))
	}
	s.write("people.jsonl", strings.Join(append(lines, fmt.Sprintf(`{"wait":%q}`, gate), `{"end":{}}`), "\n"))
	at := s.serveDirectory()
	started := regexp.MustCompile(`reading, 1000 of about 1600`)
	importing := func(errs io.Writer, meanwhile func()) string {
		t.Helper()
		_ = os.Remove(gate)
		cmd := s.command(at("import", "staff", "--dry-run")...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the host reads", func() bool { return started.MatchString(s.ok(at("list")...)) })
		meanwhile()
		s.write("gate", "")
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, out.String())
		}
		return out.String()
	}

	file, screen := newTerminal(t)
	out := importing(file, func() {
		eventually(t, "the terminal shows how far it is", func() bool { return strings.Contains(screen.String(), "\rreading staff: 1000 of 1600\x1b[K") })
	})
	eventually(t, "the line has an end", func() bool { return strings.HasSuffix(screen.String(), "\x1b[K\r\n") })
	if n := strings.Count(screen.String(), "\n"); n != 1 {
		t.Errorf("%d lines on the terminal: %q", n, screen.String())
	}
	if !strings.HasPrefix(out, "read all of staff: 1503 entries") || strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}

	var errs buffer
	silent := importing(&errs, func() { time.Sleep(3 * progressPause) }) // long enough to have been told
	if text := errs.String(); text != "" {
		t.Errorf("where there is no terminal it told %q", text)
	}
	if !strings.HasPrefix(silent, "read all of staff: 1503 entries") {
		t.Errorf("%q", silent)
	}
}

func TestADeviceThatIsNoTerminalIsToldNothing(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if newProgress(null).terminal {
		t.Error("the null device passes for a terminal")
	}
	file, _ := newTerminal(t)
	if !newProgress(file).terminal {
		t.Error("a terminal does not")
	}
}
