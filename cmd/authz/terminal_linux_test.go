package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/authzhost/authz/internal/terminal"
)

// On a terminal headers stand out and a wait is told; in a pipe there is none of it.
func TestATerminalShowsStylesAndWaits(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	wait := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-wait:
			time.Sleep(waitPatience + 1500*time.Millisecond)
		default:
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/check") {
			_, _ = w.Write([]byte(`{"allowed":false}`))
			return
		}
		_, _ = w.Write([]byte(`{"roles":[{"id":"ed\u001b[2Jitor","name":"Editor","patterns":["docs.*"]}]}`))
	}))
	t.Cleanup(server.Close)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("a-secret-of-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	roles := []string{"role", "list", "--url", server.URL, "--token-file", token}
	file, screen := newTerminal(t)
	var piped buffer
	if code := run(t.Context(), roles, strings.NewReader(""), file, &piped); code != 0 {
		t.Fatalf("exit %d: %s", code, piped.String())
	}
	eventually(t, "the header is bold", func() bool { return strings.Contains(screen.String(), "\x1b[1mID") })
	if strings.Contains(screen.String(), "\x1b[2J") {
		t.Errorf("a row commands the terminal: %q", screen.String())
	}
	if code := run(t.Context(), []string{"check", "--user", "ann", "docs.files.read", "--url", server.URL, "--token-file", token}, strings.NewReader(""), file, &piped); code != 0 {
		t.Fatalf("exit %d: %s", code, piped.String())
	}
	eventually(t, "the answer is red", func() bool { return strings.Contains(screen.String(), "\x1b[31mDENIED\x1b[0m") })
	if piped.String() != "" {
		t.Errorf("standard error holds %q", piped.String())
	}

	// a wait, told on standard error, while standard output is a pipe
	wait <- struct{}{}
	errs, second := newTerminal(t)
	var out buffer
	if code := run(t.Context(), roles, strings.NewReader(""), &out, errs); code != 0 {
		t.Fatalf("exit %d: %s", code, second.String())
	}
	eventually(t, "the wait is told and taken away", func() bool {
		return strings.Contains(second.String(), "\rworking, 2 s\x1b[K") && strings.HasSuffix(second.String(), "\r\x1b[K")
	})
	if strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), "working") {
		t.Errorf("a pipe holds %q", out.String())
	}

	t.Setenv("NO_COLOR", "1")
	third, plainly := newTerminal(t)
	if code := run(t.Context(), roles, strings.NewReader(""), third, &piped); code != 0 {
		t.Fatalf("exit %d", code)
	}
	eventually(t, "the list is shown", func() bool { return strings.Contains(plainly.String(), "docs.*") })
	if strings.Contains(plainly.String(), "\x1b") {
		t.Errorf("with NO_COLOR: %q", plainly.String())
	}
}

// A row of a table whose columns are wider than the terminal goes on below, word by word.
func TestATableFitsTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	file, screen := newTerminal(t)
	size := struct{ rows, columns, x, y uint16 }{24, 41, 0, 0}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		t.Fatal(errno)
	}
	rows := [][]string{{"ID", "PATTERNS"}, {"editor", "docs.files.read, docs.files.edit, docs.bills.*"}}
	table(terminal.New(file), rows)
	eventually(t, "the last pattern", func() bool { return strings.HasSuffix(screen.String(), "docs.bills.*\r\n") })
	want := "ID      PATTERNS\r\neditor  docs.files.read, docs.files.edit,\r\n        docs.bills.*\r\n"
	if screen.String() != want {
		t.Errorf("the terminal shows %q", screen.String())
	}
	var piped strings.Builder
	table(&piped, rows)
	if strings.Count(piped.String(), "\n") != 2 {
		t.Errorf("a pipe holds %q", piped.String())
	}
}
