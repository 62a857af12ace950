package pluginhost

import (
	"bytes"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/hashicorp/go-hclog"
)

const (
	keepLines = 20
	keepBytes = 1000 // of a line
)

// tail keeps the last lines of a process's output.
type tail struct {
	mu    sync.Mutex
	lines []string
	open  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		if room := keepBytes - len(t.open); room > 0 {
			t.open = append(t.open, line[:min(room, len(line))]...)
		}
		if ended {
			t.end()
		}
		rest = after
	}
	return len(p), nil
}

func (t *tail) end() {
	if len(t.open) > 0 {
		t.lines = append(t.lines, authz.EchoN(string(t.open), keepBytes))
		t.lines = t.lines[max(0, len(t.lines)-keepLines):]
	}
	t.open = t.open[:0]
}

// last returns the lines kept, oldest first.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	return append([]string(nil), t.lines...)
}

// printed logs what a plugin prints on the standard streams that go-plugin took
// from it, and keeps it for the report of a crash.
type printed struct {
	log  hclog.Logger
	keep *tail
}

func (w printed) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			w.log.Info(authz.EchoN(string(line), keepBytes))
		}
	}
	return w.keep.Write(p)
}
