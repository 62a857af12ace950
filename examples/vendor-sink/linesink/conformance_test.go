package linesink_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	conformance "github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/examples/vendor-sink/linesink"
	"github.com/authzhost/authz/sdk/metrics"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Target{Name: linesink.Name, New: newFolder})
}

// folder is the file of one case.
type folder struct {
	dir  string
	open []metrics.Sink
}

func newFolder(context.Context) (conformance.Backend, error) {
	dir, err := os.MkdirTemp("", "linesink")
	return &folder{dir: dir}, err
}

func (f *folder) path() string { return filepath.Join(f.dir, "windows.jsonl") }

func (f *folder) Connect(ctx context.Context) (metrics.Sink, error) {
	s, err := linesink.Open(ctx, f.path(), 256<<20)
	if err == nil {
		f.open = append(f.open, s)
	}
	return s, err
}

// Counts adds up the lines: the file is the target system.
func (f *folder) Counts(context.Context) (map[conformance.Key]float64, error) {
	counts := map[conformance.Key]float64{}
	for _, w := range lines(f.path()) {
		for _, c := range w.Checks {
			counts[conformance.Key{Application: w.Application, Permission: c.Permission, Decision: c.Decision}] += c.Estimated
		}
	}
	return counts, nil
}

func (f *folder) Close() error {
	var err error
	for _, s := range f.open {
		err = errors.Join(err, s.Close(context.Background()))
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// lines are the windows of a file, and of the one before it.
func lines(path string) (all []metrics.Window) {
	for _, name := range []string{path + ".1", path} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			panic(err)
		}
		defer f.Close()
		for r := bufio.NewReader(f); ; {
			line, err := r.ReadBytes('\n')
			if err != nil { // the rest is being written
				break
			}
			var w metrics.Window
			if err := json.Unmarshal(line, &w); err != nil {
				panic(err)
			}
			all = append(all, w)
		}
	}
	return all
}
