package account_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func openRecords(t *testing.T) storage.Store {
	t.Helper()
	driver := memory.New(memory.Options{})
	records, err := driver.Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = driver.Close() })
	return records
}

func logOf(t *testing.T, s *account.Store, org string) []authz.AuditEntry {
	t.Helper()
	entries, err := s.LogEntries(t.Context(), org, authz.AuditCursor{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func chained(t *testing.T, s *account.Store, org string, want int) {
	t.Helper()
	entries := logOf(t, s, org)
	report, err := authz.VerifyHashChain(func(yield func(authz.AuditEntry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}, "")
	if err != nil || !report.OK || report.Hashed != want {
		t.Errorf("the log of %q: %+v, %v; want %d chained entries", org, report, err, want)
	}
	head, found, err := s.LogHead(t.Context(), org)
	if err != nil || found != (want > 0) || found && (head.Hash != entries[len(entries)-1].Hash || head.Count != int64(want)) {
		t.Errorf("the head of %q: %+v, %v, %v", org, head, found, err)
	}
}

func TestHostsThatWriteAtOnceKeepOneChainAnOrg(t *testing.T) {
	records := openRecords(t)
	orgs := []string{"acme", "b", ""}
	var writing sync.WaitGroup
	for host := range 3 {
		// Clocks that run behind one another must not put entries out of order.
		s := account.New(records, func() int64 { return int64(5000 - 1000*host) })
		for n := range 8 {
			for i := range orgs {
				writing.Go(func() {
					tx := s.Begin(t.Context())
					// Two logs in one commit, named in either order.
					for _, org := range []string{orgs[i], orgs[(i+n%2)%len(orgs)]} {
						tx.Audit(org, "u", "seat.invite", fmt.Sprint(host, n), nil)
					}
					account.Roles.Put(tx, "acme", uuid.NewString(), authz.Role{}, 0)
					if err := tx.Commit(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	writing.Wait()
	s := account.New(records, func() int64 { return 0 })
	for _, org := range orgs {
		chained(t, s, org, 2*3*8)
	}
}

func TestOrgsDoNotWaitForEachOthersLogs(t *testing.T) {
	s := account.New(openRecords(t), func() int64 { return 1 })
	err := s.Exclusive(t.Context(), "log:acme", func(context.Context) error {
		tx := s.Begin(t.Context())
		tx.Audit("b", "u", "org.update", "b", nil)
		return tx.Commit()
	})
	if err != nil {
		t.Fatal(err)
	}
	chained(t, s, "b", 1)
}

// TestTheChainBeginsBehindEntriesWithoutOne: an earlier version chained nothing, and
// the clock of its host was ahead.
func TestTheChainBeginsBehindEntriesWithoutOne(t *testing.T) {
	s := account.New(openRecords(t), func() int64 { return 5 })
	tx := s.Begin(t.Context())
	for _, at := range []int64{3, 5, 9} {
		account.Log.Put(tx, "acme", account.LogID(at, "zz"), authz.AuditEntry{ID: "zz", At: at}, 0)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	chained(t, s, "acme", 0)
	for range 2 {
		tx = s.Begin(t.Context())
		tx.Audit("acme", "u", "org.update", "acme", nil)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	chained(t, s, "acme", 2)
	if entries := logOf(t, s, "acme"); len(entries) != 5 || entries[2].At != 9 || entries[2].Hash != "" || entries[3].PrevHash != "" {
		t.Errorf("%+v", entries)
	}
}

func TestARefusedCommitLeavesTheChainAsItWas(t *testing.T) {
	s := account.New(openRecords(t), func() int64 { return 5 })
	write := func(expect int64) error {
		tx := s.Begin(t.Context())
		account.Roles.Put(tx, "acme", "r", authz.Role{}, expect)
		tx.Audit("acme", "u", "role.create", "r", nil)
		return tx.Commit()
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	if err := write(0); err != error(account.ErrMoved) {
		t.Errorf("a second creation: %v", err)
	}
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	chained(t, s, "acme", 2)
}

// TestALogsRepeatedWorkIsRecognised although its links differ. What landed after
// Applied was asked is judged again: the answer may hold a secret of this run.
func TestALogsRepeatedWorkIsRecognised(t *testing.T) {
	s := account.New(openRecords(t), func() int64 { return 5 })
	id := uuid.New()
	first := account.WithWork(t.Context(), &account.Work{ID: id, At: 5})
	again := account.WithWork(t.Context(), &account.Work{ID: id, At: 5, Repeated: true})
	if applied, err := s.Applied(again); applied || err != nil {
		t.Fatal(applied, err)
	}
	if _, _, err := run(first, s); err != nil {
		t.Fatal(err)
	}
	write := func(ctx context.Context) error {
		tx := s.Begin(ctx)
		tx.Audit("acme", "u", "role.create", "r", nil)
		return tx.Commit()
	}
	if err := write(again); err != error(account.ErrMoved) {
		t.Errorf("what had asked: %v", err)
	}
	if err := write(account.WithWork(t.Context(), &account.Work{ID: id, At: 5, Repeated: true})); err != nil {
		t.Errorf("what had not asked: %v", err)
	}
	if applied, err := s.Applied(again); !applied || err != nil {
		t.Errorf("judged again: %v, %v", applied, err)
	}
	chained(t, s, "acme", 1)
}

// robbed loses its next section between the acquisition and the commit.
type robbed struct {
	storage.Store
	rob string
}

func (r *robbed) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if key := r.rob; key != "" {
		r.rob = ""
		for i, f := range c.Fences {
			if f.Key == key {
				c.Fences[i].Fence--
			}
		}
	}
	return r.Store.Commit(ctx, c)
}

func TestALogsLostSectionIsTakenAgain(t *testing.T) {
	records := &robbed{Store: openRecords(t), rob: "log:acme"}
	s := account.New(records, func() int64 { return 5 })
	tx := s.Begin(t.Context())
	tx.Audit("acme", "u", "org.update", "acme", nil)
	if err := tx.Commit(); err != nil || records.rob != "" {
		t.Fatal(err)
	}
	chained(t, s, "acme", 1)
}
