package authz_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
)

// chainCase is the union of the cases of audit-chain.jsonl, told apart by Kind.
type chainCase struct {
	Kind      string           `json:"kind"`
	Value     json.RawMessage  `json:"value"`
	Canonical json.RawMessage  `json:"canonical"` // a text, or one for each entry of a log
	Event     authz.AuditEntry `json:"event"`
	PrevHash  string           `json:"prevHash"`
	Hash      string           `json:"hash"`

	Log   []authz.AuditEntry `json:"log"`
	Cases []struct {
		Name    string            `json:"name"`
		Events  []json.RawMessage `json:"events"` // an index into the log, or an entry
		Options struct {
			PriorHash string `json:"priorHash"`
		} `json:"options"`
		Expect json.RawMessage `json:"expect"`
	} `json:"cases"`
}

func TestVectorsAuditChain(t *testing.T) {
	vectors.Replay(t, "audit-chain.jsonl", nil, func(t *testing.T, c chainCase) {
		switch c.Kind {
		case "canonical":
			expectCanonical(t, c.Value, c.Canonical)
		case "hash":
			c.Event.PrevHash = c.PrevHash
			expectText(t, c.Event, c.Canonical)
			if got, err := authz.HashAudit(c.Event); err != nil || got != c.Hash {
				t.Errorf("hash %s, %v; want %s", got, err, c.Hash)
			}
		case "log":
			texts := decoded(t, c.Canonical).([]any)
			if len(texts) != len(c.Log) {
				t.Fatalf("%d texts of %d entries", len(texts), len(c.Log))
			}
			for i, e := range c.Log {
				text, _ := json.Marshal(texts[i])
				expectText(t, e, text)
			}
			for _, check := range c.Cases {
				var events []authz.AuditEntry
				for _, raw := range check.Events {
					var index int
					var entry authz.AuditEntry
					if json.Unmarshal(raw, &index) == nil {
						entry = c.Log[index]
					} else if err := json.Unmarshal(raw, &entry); err != nil {
						t.Fatal(err)
					}
					events = append(events, entry)
				}
				report, err := authz.VerifyHashChain(listed(events), check.Options.PriorHash)
				if err != nil {
					t.Fatal(err)
				}
				got, err := json.Marshal(report)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(decoded(t, check.Expect), decoded(t, got)); diff != "" {
					t.Errorf("%s\n(-want +got)\n%s", check.Events, diff)
				}
			}
		default:
			t.Fatalf("unknown kind %q", c.Kind)
		}
	})
}

func expectCanonical(t *testing.T, value, want json.RawMessage) {
	t.Helper()
	var text string
	if err := json.Unmarshal(want, &text); err != nil {
		t.Fatal(err)
	}
	if got, err := authz.Canonical(value); err != nil || string(got) != text {
		t.Errorf("canonical %s, %v; want %s", got, err, text)
	}
}

// expectText wants the hash of an entry to be that of a canonical text.
func expectText(t *testing.T, e authz.AuditEntry, canonical json.RawMessage) {
	t.Helper()
	text, _ := decoded(t, canonical).(string)
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	if got, err := authz.HashAudit(e); err != nil || got != want {
		t.Errorf("%s: hash %s, %v; want %s of %s", e.ID, got, err, want, text)
	}
}

func decoded(t *testing.T, raw json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func listed(entries []authz.AuditEntry) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// What LinkHashChain links sorts as it is linked and verifies; whatever member of whichever
// entry changes afterwards is found.
func TestAChainShowsWhatWasChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []authz.AuditEntry
		var newest *authz.AuditEntry
		for range rapid.IntRange(1, 4).Draw(t, "commits") {
			entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) authz.AuditEntry {
				return authz.AuditEntry{ID: rapid.StringMatching("[a-c]{1,2}").Draw(t, "id"), At: rapid.Int64Range(0, 5).Draw(t, "at"),
					Actor: "root", Action: "role.delete", Target: rapid.String().Draw(t, "target")}
			}), 1, 3).Draw(t, "entries")
			linked, err := authz.LinkHashChain(newest, entries)
			if err != nil {
				t.Fatal(err)
			}
			log = append(log, linked...)
			newest = &log[len(log)-1]
		}
		if !slices.IsSortedFunc(log, func(a, b authz.AuditEntry) int {
			if a.Cursor().Before(b.Cursor()) {
				return -1
			}
			return 1
		}) {
			t.Fatalf("the log is out of order: %+v", log)
		}
		if report, err := authz.VerifyHashChain(listed(log), ""); err != nil || !report.OK || report.Hashed != len(log) {
			t.Fatalf("%+v, %v", report, err)
		}
		at := rapid.IntRange(0, len(log)-1).Draw(t, "changed")
		switch rapid.IntRange(0, 3).Draw(t, "member") {
		case 0:
			log[at].Target += "!"
		case 1:
			log[at].Detail = json.RawMessage(`{"a":1}`)
		case 2:
			log[at].At++
		case 3:
			log[at].Actor = "eve"
		}
		if report, _ := authz.VerifyHashChain(listed(log), ""); report.OK || report.Index != at || report.Reason != authz.HashChainMismatch {
			t.Fatalf("entry %d was changed: %+v", at, report)
		}
	})
}

// RFC 8785 refuses the first three. A log may hold them, and
// its chain must verify whatever makes the canonical text.
func TestWhatRFC8785RefusesIsStillHashedAsItWas(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":1,"a":2}`:  `{"a":2}`,
		`["\ud800","x"]`: "[\"\ufffd\",\"x\"]",
		"\"\xff\"":       "\"\ufffd\"",
		`[-0,1e-400]`:    `[0,0]`,
	} {
		if got, err := authz.Canonical(json.RawMessage(value)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", value, got, err, want)
		}
	}
	for _, value := range []string{`1e400`, `1 2`, ``} {
		if got, err := authz.Canonical(json.RawMessage(value)); err == nil {
			t.Errorf("%q is %s", value, got)
		}
	}
}
