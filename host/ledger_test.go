package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

// ledger is a sink that writes each window's counts into a file, a line each, and
// knows from it which it took. It behaves as its setting says: "hang" answers
// nothing, "fail" takes nothing.
type ledger struct {
	behaves string

	mu    sync.Mutex
	file  *os.File
	taken map[mark]bool
}

type mark struct {
	Origin   string
	Sequence uint64
}

type line struct {
	mark
	Application string
	Instance    string
	Checks      []metrics.CheckCounter
	Grants      []metrics.RowCounter
}

func ledgerPlugin(version string) plugin.Plugin {
	return plugin.Plugin{Name: "ledger", Version: version,
		Sink: plugin.SinkKind{Capabilities: metrics.SinkCapabilities(), Configure: func(_ context.Context, c map[string]any) (metrics.Sink, error) {
			return openLedger(c["path"].(string), c["behaves"].(string))
		}},
		ConfigSchema: []plugin.Setting{{Name: "path", Type: plugin.TypeString, Required: true, Description: "the file"},
			{Name: "behaves", Type: plugin.TypeString, Default: "", Description: "hang or fail"}}}
}

func openLedger(path, behaves string) (*ledger, error) {
	l := &ledger{behaves: behaves, taken: map[mark]bool{}}
	lines, whole, err := readLedger(path)
	if err != nil {
		return nil, err
	}
	for _, one := range lines {
		l.taken[one.mark] = true
	}
	if l.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := l.file.Truncate(whole); err != nil { // a line that a kill cut off
		return nil, err
	}
	_, err = l.file.Seek(whole, 0)
	return l, err
}

// readLedger answers the whole lines, and where they end.
func readLedger(path string) (lines []line, whole int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	for in := bufio.NewReader(f); ; {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return lines, whole, nil
		}
		var one line
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, 0, err
		}
		lines, whole = append(lines, one), whole+int64(len(text))
	}
}

func (l *ledger) Info() metrics.SinkInfo {
	return metrics.SinkInfo{Name: "ledger", Capabilities: metrics.SinkCapabilities()}
}

func (l *ledger) Close(context.Context) error { return l.file.Close() }

func (l *ledger) Write(ctx context.Context, w metrics.Window) error {
	switch l.behaves {
	case "hang":
		<-ctx.Done()
		return &authz.UnavailableError{Message: "it hangs", Outcome: authz.OutcomeUnknown}
	case "fail":
		return &authz.UnavailableError{Message: "it fails", Outcome: authz.OutcomeNotApplied}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := mark{w.Origin, w.Sequence}
	if l.taken[m] {
		return nil
	}
	text, err := json.Marshal(line{m, w.Application, w.InstanceID, w.Checks, w.Grants})
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return &authz.UnavailableError{Message: "the file cannot be written", Outcome: authz.OutcomeUnknown, Cause: err}
	}
	l.taken[m] = true
	return nil
}

// told adds up what a ledger was told, by permission and decision.
func told(t testing.TB, path string) map[string]int64 {
	t.Helper()
	lines, _, err := readLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, one := range lines {
		for _, c := range one.Checks {
			sums[c.Permission+" "+string(c.Decision)] += c.Observed
		}
	}
	return sums
}
