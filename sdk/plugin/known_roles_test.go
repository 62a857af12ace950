package plugin

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Roles change, are deleted and made again; answers are lost, come late and come to
// another handle; both sides forget, and the plugin is another process: every answer is
// what it would be without the tables, which stay bounded.
func TestAnAccessIsTheSameWithAndWithoutKnownRoles(t *testing.T) {
	named := 0
	rapid.Check(t, func(t *rapid.T) {
		type handle struct {
			sent  *sentRoles
			known *knownRoles
			late  []*pluginv1.Access // on the way
			truth []storage.Access
		}
		most := rapid.IntRange(1, 6).Draw(t, "most")
		keeps := rapid.IntRange(1, 12).Draw(t, "keeps") // a host may keep less
		handles := make([]handle, 2)
		for i := range handles {
			handles[i] = handle{sent: &sentRoles{most: most}, known: &knownRoles{most: keeps}}
		}
		now := map[string]authz.Role{}
		arrive := func(h *handle, message *pluginv1.Access, truth storage.Access) {
			got, err := decodeAccess(message, h.known)
			if errors.Is(err, errForgotten) {
				// What is asked for again is of now; here it is what it was.
				whole := must[*pluginv1.Access](t)(encodeAccess(truth, h.sent, true))
				got, err = decodeAccess(wire(t, whole), h.known)
			}
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, truth)
			if len(h.known.rows) > keeps || len(h.sent.rows) > most {
				t.Fatalf("%d and %d roles are kept of %d and %d", len(h.known.rows), len(h.sent.rows), keeps, most)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			h := &handles[rapid.IntRange(0, 1).Draw(t, "handle")]
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1: // a role changes, or is made, perhaps as it was once
				id := fmt.Sprint("r", rapid.IntRange(0, 8).Draw(t, "role"))
				now[id] = authz.Role{ID: id, Name: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "content")), Patterns: texts.Draw(t, "patterns")}
			case 2:
				delete(now, fmt.Sprint("r", rapid.IntRange(0, 8).Draw(t, "role")))
			case 3: // the plugin is another process
				h.sent, h.known, h.late, h.truth = &sentRoles{most: most}, &knownRoles{most: keeps}, nil, nil
			case 4: // an answer is lost
				if len(h.late) > 0 {
					h.late, h.truth = h.late[1:], h.truth[1:]
				}
			case 5: // the newest arrives first
				if n := len(h.late); n > 0 {
					arrive(h, h.late[n-1], h.truth[n-1])
					h.late, h.truth = h.late[:n-1], h.truth[:n-1]
				}
			default:
				var truth storage.Access
				for id, r := range now {
					if rapid.Bool().Draw(t, "named "+id) {
						truth.Roles = append(truth.Roles, r)
					}
				}
				message := wire(t, must[*pluginv1.Access](t)(encodeAccess(truth, h.sent, false)))
				for _, r := range message.GetRoles() {
					if r.GetRole() == nil {
						named++
					}
				}
				if rapid.Bool().Draw(t, "late") {
					h.late, h.truth = append(h.late, message), append(h.truth, truth)
				} else {
					arrive(h, message, truth)
				}
			}
		}
	})
	if named == 0 {
		t.Error("no role was ever taken for known")
	}
}

func TestARoleTooLargeToKeepCrossesEachTime(t *testing.T) {
	sent := &sentRoles{most: 10}
	role := authz.Role{ID: "r", Description: string(make([]byte, maxKnownBytes))}
	for range 2 {
		out, _, err := sent.encode([]authz.Role{role}, false)
		if err != nil || out[0].GetRole() == nil || out[0].GetRevision() != 0 || len(sent.rows) != 0 {
			t.Fatalf("revision %d, %d kept, %v", out[0].GetRevision(), len(sent.rows), err)
		}
	}
	for i := range 40 {
		role.ID, role.Description = fmt.Sprint(i), string(make([]byte, maxKnownBytes/3))
		sent.most = 1000
		if _, _, err := sent.encode([]authz.Role{role}, false); err != nil || len(sent.rows) > 3 {
			t.Fatalf("%d roles of a third each are kept, %v", len(sent.rows), err)
		}
	}
}

// What a driver does with a row after it gave it changes nothing that was sent.
func TestADriverMayWriteToARoleThatItGave(t *testing.T) {
	sent := &sentRoles{most: 10}
	role := authz.Role{ID: "r", Patterns: []string{"a", "b"}}
	first, _, err := sent.encode([]authz.Role{role}, false)
	if err != nil {
		t.Fatal(err)
	}
	role.Patterns[0] = "c"
	second, _, err := sent.encode([]authz.Role{role}, false)
	if err != nil || second[0].GetRole() == nil || second[0].GetRevision() == first[0].GetRevision() {
		t.Errorf("a role that was written to is named by its old revision: %v, %v", second, err)
	}
}

// What a caller does with a role that it was given changes nobody else's.
func TestARoleThatIsGivenOutIsTheCallersOwn(t *testing.T) {
	access := storage.Access{Roles: []authz.Role{{ID: "r", Patterns: []string{"a"}, Requestable: &authz.Requestable{MaxDurationMs: 1}}}}
	sent, known := &sentRoles{most: 10}, &knownRoles{most: 10}
	for range 3 {
		message, err := encodeAccess(access, sent, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeAccess(wire(t, message), known)
		if err != nil || got.Roles[0].Patterns[0] != "a" || got.Roles[0].Requestable.MaxDurationMs != 1 {
			t.Fatalf("got %v, %v", got.Roles, err)
		}
		got.Roles[0].Patterns[0], got.Roles[0].Requestable.MaxDurationMs = "b", 2
	}
}
