package pluginhost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/internal/spell"
)

const (
	keepLines = 40   // the trace of a panic, from its first line, with those of gRPC
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
		if line, keep := readable(t.open); keep {
			t.lines = append(t.lines, spell.EchoN(line, keepBytes))
			t.lines = t.lines[max(0, len(t.lines)-keepLines):]
		}
	}
	t.open = t.open[:0]
}

// readable renders a log record as a line for people, and drops those below the
// level that matters after a crash; any other output stays as it is.
func readable(line []byte) (text string, keep bool) {
	var record map[string]any
	if line[0] != '{' || json.Unmarshal(line, &record) != nil || record["@message"] == nil {
		return string(line), true
	}
	level := hclog.LevelFromString(fmt.Sprint(record["@level"]))
	if level == hclog.Trace || level == hclog.Debug {
		return "", false
	}
	text = fmt.Sprintf("[%s] %v", strings.ToUpper(level.String()), record["@message"])
	for _, key := range slices.Sorted(maps.Keys(record)) {
		if !strings.HasPrefix(key, "@") {
			text += fmt.Sprintf(" %s=%v", key, record[key])
		}
	}
	return text, true
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
			w.log.Info(spell.EchoN(string(line), keepBytes))
		}
	}
	return w.keep.Write(p)
}
