package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// told is a writer that another goroutine may read.
type told struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

// next waits for the words and returns what was told up to them.
func (w *told) next(t *testing.T, words string) string {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		w.mu.Lock()
		text := w.buf.String()
		if i := strings.Index(text, words); i >= 0 {
			w.buf.Next(i + len(words))
			w.mu.Unlock()
			return text[:i+len(words)]
		}
		w.mu.Unlock()
	}
	t.Fatalf("never told %q, but %q", words, w.buf.String())
	return ""
}

func TestWatchRunsAgainAfterEachKindOfChange(t *testing.T) {
	project(t, map[string]string{"src/a.ts": "export {}\n"})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var stdout, stderr told
	status := make(chan int)
	go func() { status <- run(ctx, []string{"--watch"}, &stdout, &stderr) }()
	stderr.next(t, "1 file(s), 0 ignored, 0 error(s), 2 warning(s)\nauthz-verify: watching for changes\n")
	for _, step := range []struct {
		what   string
		change func()
		want   string
	}{
		{"a file written", func() { write(t, "src/a.ts", bothKeys) }, "1 file(s), 0 ignored, 0 error(s), 0 warning(s)"},
		{"a file made", func() { write(t, "src/b.ts", "can(\"zoom.rooms.x\")") }, "2 file(s), 0 ignored, 1 error(s), 0 warning(s)"},
		{"a directory made", func() { write(t, "src/deep/er/c.ts", "can(\"zoom.rooms.x\")") }, "3 file(s), 0 ignored, 2 error(s), 0 warning(s)"},
		{"a file in it", func() { write(t, "src/deep/er/c.ts", "") }, "3 file(s), 0 ignored, 1 error(s), 0 warning(s)"},
		{"a directory removed", func() { _ = os.RemoveAll("src/deep") }, "2 file(s), 0 ignored, 1 error(s), 0 warning(s)"},
		{"a file replaced", func() { write(t, "tmp", ""); _ = os.Rename("tmp", "src/b.ts") }, "2 file(s), 0 ignored, 0 error(s), 0 warning(s)"},
		{"the catalog broken", func() { write(t, "catalog.json", "{") }, "cannot read catalog catalog.json: not JSON"},
		{"the catalog mended", func() { write(t, "new.json", zoom); _ = os.Rename("new.json", "catalog.json") }, "2 file(s), 0 ignored, 0 error(s), 0 warning(s)"},
		{"the configuration changed", func() { write(t, "authz-verify.config.json", `{"catalog":"catalog.json","include":["lib/x"]}`) }, "0 file(s), 0 ignored, 0 error(s), 2 warning(s)"},
		{"a root made", func() { write(t, "lib/x/c.ts", bothKeys) }, "1 file(s), 0 ignored, 0 error(s), 0 warning(s)"},
	} {
		step.change()
		t.Log(step.what, stderr.next(t, step.want))
	}
	stop()
	select {
	case got := <-status:
		if got != exitClean {
			t.Errorf("exit %d, want that of the last run", got)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("an interrupt does not end it")
	}
}

func TestWatchSeesWhatLiesBehindLinks(t *testing.T) {
	away := t.TempDir()
	project(t, map[string]string{"go.mod": "module example.org/shop\n\ngo 1.24\n"})
	config := `{"catalog":"catalog.json","include":["root","src"],"go":{"packages":["."]},"gateNames":["mayI"]}`
	write(t, "authz-verify.config.json", config)
	write(t, filepath.Join(away, "shelf/a.ts"), "export {}\n")
	write(t, filepath.Join(away, "root/a.ts"), "export {}\n")
	write(t, filepath.Join(away, "one/b.ts"), "export {}\n")
	write(t, filepath.Join(away, "go/shop.go"), "package shop\n")
	write(t, filepath.Join(away, "documents/catalog.json"), zoom)
	write(t, "src/x.ts", "export {}\n")
	if err := os.Remove("catalog.json"); err != nil {
		t.Fatal(err)
	}
	for at, to := range map[string]string{"root": "root", "src/shelf": "shelf", "src/b.ts": "hop", "hop": "one/b.ts", "src/later.ts": "later/c.ts", "src/self.ts": "",
		"shop.go": "go/shop.go", "catalog.json": "documents/catalog.json"} {
		to = filepath.Join(away, to)
		switch at {
		case "src/self.ts":
			to = "self.ts"
		case "src/b.ts":
			to = "../hop"
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var stdout, stderr told
	status := make(chan int)
	go func() { status <- run(ctx, []string{"--watch"}, &stdout, &stderr) }()
	stderr.next(t, "5 file(s), 0 ignored, 0 error(s), 2 warning(s)\n"+noGo+"authz-verify: watching for changes\n")
	bad := "can(\"zoom.rooms.x\")"
	for _, step := range []struct {
		what   string
		change func()
		want   string
	}{
		{"a linked directory", func() { write(t, filepath.Join(away, "shelf/a.ts"), bad) }, "5 file(s), 0 ignored, 1 error(s)"},
		{"a linked root", func() { write(t, filepath.Join(away, "root/a.ts"), bad) }, "5 file(s), 0 ignored, 2 error(s)"},
		{"a linked file", func() { write(t, filepath.Join(away, "one/b.ts"), bad) }, "5 file(s), 0 ignored, 3 error(s)"},
		{"a link that led nowhere", func() { write(t, filepath.Join(away, "later/c.ts"), bad) }, "6 file(s), 0 ignored, 4 error(s)"},
		{"a link removed", func() { _ = os.Remove("src/shelf") }, "5 file(s), 0 ignored, 3 error(s)"},
		{"a linked Go file", func() {
			write(t, filepath.Join(away, "go/shop.go"), "package shop\n\nfunc mayI(string) bool { return true }\n\nvar ok = mayI(\"zoom.rooms.x\")\n")
		}, "5 file(s), 0 ignored, 4 error(s)"},
		{"a linked catalog", func() { write(t, filepath.Join(away, "documents/catalog.json"), "{") }, "cannot read catalog catalog.json: not JSON"},
	} {
		step.change()
		t.Log(step.what, stderr.next(t, step.want))
	}
	stop()
	<-status
}

func TestWatchGoesOnThoughADirectoryCannotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may read every directory")
	}
	project(t, map[string]string{"src/a.ts": "export {}\n"})
	if err := os.Mkdir("src/closed", 0); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var stdout, stderr told
	status := make(chan int)
	go func() { status <- run(ctx, []string{"--watch"}, &stdout, &stderr) }()
	stderr.next(t, "cannot read source src/closed: permission denied\nauthz-verify: watching for changes\n")
	write(t, "authz-verify.config.json", `{"catalog":"catalog.json","exclude":["closed"]}`)
	stderr.next(t, "1 file(s), 0 ignored, 0 error(s)")
	stop()
	<-status
}
