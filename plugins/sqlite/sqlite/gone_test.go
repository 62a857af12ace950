package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// takings are the ways in which files go while they are open.
var takings = map[string]func(path string) error{
	"removed": os.Remove,
	"replaced": func(path string) error {
		return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
	},
	"replaced by a copy": func(path string) error {
		content, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(path+".copy", content, 0o600), os.Rename(path+".copy", path))
	},
	"whose log is removed":   func(path string) error { return os.Remove(path + logSuffix) },
	"whose index is removed": func(path string) error { return os.Remove(path + indexSuffix) },
	"whose log is replaced": func(path string) error {
		return errors.Join(os.Remove(path+logSuffix), os.WriteFile(path+logSuffix, nil, 0o600))
	},
}

func TestNoCommitToAFileThatIsGoneIsAcknowledged(t *testing.T) {
	for moment, c := range map[string]struct {
		statement string
		outcome   authz.Outcome
	}{
		"before it begins": {"BEGIN IMMEDIATE", authz.OutcomeNotApplied},
		"amid it":          {claimCommit, authz.OutcomeNotApplied},
		"near its end":     {oldCommits, authz.OutcomeNotApplied},
		"as it ends":       {"COMMIT", authz.OutcomeUnknown},
	} {
		for way, take := range takings {
			t.Run(way+" "+moment, func(t *testing.T) {
				path, armed := tempFile(t), false
				_, s := open(t, Options{Path: path, observe: func(text string) {
					if armed && text == c.statement {
						armed = false
						if err := take(path); err != nil {
							t.Error(err)
						}
					}
				}})
				if _, err := s.Commit(t.Context(), role("first")); err != nil { // and has the files looked at
					t.Fatal(err)
				}
				armed = true
				_, err := s.Commit(t.Context(), role("second"))
				var down *storage.Error
				if !errors.As(err, &down) || !storage.IsLost(err) || down.Outcome != c.outcome {
					t.Errorf("%v, want lost, %s", err, c.outcome)
				}
				if armed {
					t.Error("the statement did not come")
				}
				if _, _, err := s.GetRole(t.Context(), "first"); !storage.IsLost(err) {
					t.Errorf("a read afterwards: %v", err)
				}
				if _, err := s.Acquire(t.Context(), "k"); !storage.IsLost(err) {
					t.Errorf("a section afterwards: %v", err)
				}
			})
		}
	}
}

// Between two commits nothing is asked but how the database is.
func TestFilesThatAreGoneAreToldAsLostForGood(t *testing.T) {
	for way, take := range takings {
		t.Run(way, func(t *testing.T) {
			path := tempFile(t)
			d, s := open(t, Options{Path: path})
			if _, err := s.Commit(t.Context(), role("first")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := s.Health(t.Context()); !storage.IsLost(err) {
					t.Errorf("%v, want lost", err)
				}
				if _, err := d.Open(t.Context(), ""); !storage.IsLost(err) {
					t.Errorf("opened again: %v", err)
				}
				if err := os.WriteFile(path, before, 0o600); err != nil { // somebody puts something back
					t.Fatal(err)
				}
			}
		})
	}
}

// What was acknowledged before the log was removed lies in the log alone.
func TestClosingSavesWhatARemovedLogHeld(t *testing.T) {
	path := tempFile(t)
	d, s := open(t, Options{Path: path})
	for _, id := range []string{"first", "second"} {
		if _, err := s.Commit(t.Context(), role(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(path + logSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), role("third")); !storage.IsLost(err) {
		t.Fatalf("%v, want lost", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, s = open(t, Options{Path: path})
	for _, id := range []string{"first", "second"} {
		if _, found, err := s.GetRole(t.Context(), id); !found || err != nil {
			t.Errorf("role %s: found %v, %v", id, found, err)
		}
	}
}

// The files that have taken the place of those that were open belong to somebody else.
func TestClosingLeavesWhatTookTheFilesPlaceAlone(t *testing.T) {
	path := tempFile(t)
	d, s := open(t, Options{Path: path})
	if _, err := s.Commit(t.Context(), role("old")); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", logSuffix, indexSuffix} {
		if err := os.Rename(path+suffix, path+".old"+suffix); err != nil {
			t.Fatal(err)
		}
	}
	_, other := open(t, Options{Path: path})
	if _, err := other.Commit(t.Context(), role("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Health(t.Context()); !storage.IsLost(err) {
		t.Fatalf("%v, want lost", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.Health(context.Background()); err != nil {
		t.Errorf("the other one's files: %v", err)
	}
	if _, found, err := other.GetRole(t.Context(), "new"); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

// The last session of a process takes the log with it, which is no loss.
func TestSessionsThatComeAndGoAreNoLoss(t *testing.T) {
	d, s := open(t, Options{Path: tempFile(t)})
	for _, id := range []string{"1", "2", "3"} {
		if _, err := s.Commit(t.Context(), role(id)); err != nil {
			t.Fatal(err)
		}
		for kind, setup := range map[*sessions]string{d.db.writer: writerSetup, d.db.readers: readerSetup} {
			one, err := d.db.take(t.Context(), kind, setup)
			if err != nil {
				t.Fatal(err)
			}
			kind.giveBack(one, true)
		}
		if _, err := os.Stat(d.db.file.path + logSuffix); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the log is still there: %v", err)
		}
		if _, err := s.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
