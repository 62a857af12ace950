package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

func refusesPath(t *testing.T, path string) {
	t.Helper()
	d, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err == nil {
		_ = d.Close()
	}
	var config *plugin.ConfigError
	if !errors.As(err, &config) || config.Field != "path" {
		t.Fatalf("got %v, want a refusal of the path", err)
	}
	if strings.Contains(err.Error(), path) {
		t.Errorf("the refusal repeats the value: %v", err)
	}
}

func TestTheFileAndItsDirectoryAreTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "deeper", "authz.db")
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "")
	if _, err := s.Commit(t.Context(), storage.Commit{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 3 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
}

func TestWhatIsNoDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.txt")
	text := bytes.Repeat([]byte("not a database\n"), 500)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	refusesPath(t, path)
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, text) {
		t.Error("the file was changed")
	}
	refusesPath(t, dir)
	refusesPath(t, filepath.Join(path, "below", "authz.db"))
}

func TestATruncatedDatabaseIsAnOutageNotAnEmptyOne(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	d := mustOpen(t, sqlite.Options{Path: path})
	insertMany(t, mustStore(t, d, ""), 2000)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 64<<10); err != nil {
		t.Fatal(err)
	}
	d, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		return // refused at once
	}
	defer d.Close()
	s, err := d.Open(t.Context(), "")
	if err == nil {
		rows := 0
		for _, listErr := range s.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{}) {
			if err = listErr; err == nil {
				rows++
			}
		}
		if err == nil {
			t.Fatalf("a truncated file answered %d grants", rows)
		}
	}
	if storage.CodeOf(err) != storage.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
}

func TestAFileThatIsRemovedWhileOpenIsAnOutageNotAnEmptyDatabase(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "")
	insertMany(t, s, 10)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(1100 * time.Millisecond) // how often readers look at it
	if n, err := s.CountGrants(t.Context(), storage.GrantFilter{}); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a read answered %d, %v", n, err)
	}
	if err := tryMany(t, s, "lost", 1, 0); storage.CodeOf(err) != storage.CodeUnavailable {
		t.Errorf("a commit answered %v", err)
	}
}

func TestACommitWhoseResultIsDamagedIsNotSaidToBeMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "authz.db")
	s := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "p")
	c := storage.Commit{ID: "c", Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "r"}}}}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `UPDATE "AuthzCommit" SET "result" = '{"changes":0,"results":[{"at":1}]}'`)
	if _, err := s.Commit(t.Context(), c); storage.CodeOf(err) != storage.CodeUnavailable || outcomeOf(err) != authz.OutcomeUnknown {
		t.Errorf("sent again: %v", err)
	}
	if _, _, err := s.GetCommit(t.Context(), "c"); storage.CodeOf(err) != storage.CodeUnavailable || outcomeOf(err) == "" {
		t.Errorf("asked for: %v", err)
	}
}

func insertMany(t *testing.T, s storage.Store, n int) {
	t.Helper()
	if err := tryMany(t, s, "many", n, 0); err != nil {
		t.Fatal(err)
	}
}

// tryMany commits n grants with a payload of some bytes each, an audit entry and
// an event.
func tryMany(t *testing.T, s storage.Store, id string, n, size int) error {
	c := storage.Commit{ID: id, At: 1, Events: []authz.Event{{Type: authz.EventAll}}, Audit: []authz.AuditEntry{{ID: id, At: 1}}}
	for i := range n {
		g := authz.Grant{ID: fmt.Sprintf("%s-%06d", id, i), Subject: "user:u", Pattern: "docs.read", Scope: "*", Provenance: authz.AdminProvenance("root")}
		g.Provenance.Note = strings.Repeat("x", size)
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: g})
	}
	_, err := s.Commit(t.Context(), c)
	return err
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		field   string
		options sqlite.Options
	}{
		"no path":       {"path", sqlite.Options{}},
		"unknown lock":  {"lock", sqlite.Options{Path: "x", Lock: "advisory"}},
		"short lease":   {"lease", sqlite.Options{Path: "x", Lease: time.Millisecond}},
		"negative wait": {"busy_timeout", sqlite.Options{Path: "x", BusyTimeout: -1}},
		"negative poll": {"watch_poll", sqlite.Options{Path: "x", WatchPoll: -1}},
		"many readers":  {"readers", sqlite.Options{Path: "x", Readers: 65}},
		"a U+0000":      {"path", sqlite.Options{Path: "/tmp/x\x00y"}},
	} {
		_, err := sqlite.Open(t.Context(), c.options)
		var config *plugin.ConfigError
		if !errors.As(err, &config) || config.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPathMayHoldWhatAURLMayNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c=d#e%20&é", "authz.db?mode=memory")
	d := mustOpen(t, sqlite.Options{Path: path})
	insertMany(t, mustStore(t, d, ""), 1)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "").CountGrants(t.Context(), storage.GrantFilter{}); err != nil || n != 1 {
		t.Errorf("%d grants, %v", n, err)
	}
}
