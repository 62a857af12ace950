package sqlite

import (
	"errors"
	"os"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestNoCommitToAFileThatIsGoneIsAcknowledged(t *testing.T) {
	ways := map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	}
	for moment, statement := range map[string]string{"before it begins": "BEGIN IMMEDIATE", "amid it": claimCommit, "near its end": oldCommits} {
		for way, take := range ways {
			t.Run(way+" "+moment, func(t *testing.T) {
				path, armed := tempFile(t), false
				_, s := open(t, Options{Path: path, observe: func(text string) {
					if armed && text == statement {
						armed = false
						if err := take(path); err != nil {
							t.Error(err)
						}
					}
				}})
				if _, err := s.Commit(t.Context(), role("first")); err != nil { // and has the file looked at
					t.Fatal(err)
				}
				armed = true
				_, err := s.Commit(t.Context(), role("second"))
				var down *storage.Error
				if !errors.As(err, &down) || down.Code != storage.CodeUnavailable || down.Outcome != authz.OutcomeNotApplied {
					t.Errorf("%v, want unavailable, not applied", err)
				}
				if armed {
					t.Error("the statement did not come")
				}
				if _, _, err := s.GetRole(t.Context(), "first"); storage.CodeOf(err) != storage.CodeUnavailable {
					t.Errorf("a read afterwards: %v", err)
				}
			})
		}
	}
}
