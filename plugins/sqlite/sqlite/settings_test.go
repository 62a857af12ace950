package sqlite

import (
	"errors"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

func TestEveryConnectionSyncsWhatItCommits(t *testing.T) {
	_, s := open(t, Options{Path: tempFile(t)})
	for name, use := range map[string]func(func(*work) error) error{
		"the writer": func(fn func(*work) error) error { return s.db.writeOutside(t, fn) },
		"a reader":   func(fn func(*work) error) error { return s.db.read(t.Context(), fn) },
	} {
		err := use(func(w *work) error {
			for pragma, want := range map[string]int64{"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1, "busy_timeout": 0} {
				if got, err := w.pragma(pragma); err != nil || got != want {
					t.Errorf("%s: %s is %d, %v", name, pragma, got, err)
				}
			}
			var mode string
			if _, err := w.one("PRAGMA journal_mode", nil, &mode); err != nil || mode != "wal" {
				t.Errorf("%s: journal mode %q, %v", name, mode, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsKnownOfACommitThatFailed(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want authz.Outcome
	}{
		"no space": {sqliteError(t, `CREATE TABLE t (x); PRAGMA max_page_count = 1; INSERT INTO t VALUES (zeroblob(100000))`), authz.OutcomeNotApplied},
		"unknown":  {errors.New("the sync failed"), authz.OutcomeUnknown},
	} {
		if got := commitOutcome(c.err); got != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, c.err)
		}
	}
}

func TestThePluginConfiguresADriver(t *testing.T) {
	p := Plugin("1.2.3")
	config := map[string]any{}
	for _, s := range p.ConfigSchema {
		if s.Default != nil {
			config[s.Name] = s.Default
		}
	}
	config["path"] = tempFile(t)
	d, err := p.Storage.Configure(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if info := d.Info(); info.Name != "sqlite" || info.Durable == nil || !*info.Durable || !info.CrossProcess {
		t.Errorf("driver %+v", info)
	}
	s, err := d.Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if info := s.Info(); info.SchemaVersion != 6 || len(info.Capabilities) != len(p.Storage.Capabilities) || info.Incarnation == "" || info.Partition != "docs" {
		t.Errorf("store %+v", info)
	}
	config["lock"] = "none"
	config["path"] = tempFile(t)
	alone, err := p.Storage.Configure(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	if alone.Info().CrossProcess {
		t.Error("lock none declares that sections hold across processes")
	}
}
