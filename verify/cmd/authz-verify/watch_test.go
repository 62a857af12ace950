package main

import (
	"bytes"
	"context"
	"os"
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
