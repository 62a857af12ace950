package account_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
)

func open(t *testing.T) *account.Store {
	t.Helper()
	driver := memory.New(memory.Options{})
	records, err := driver.Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = driver.Close() })
	return account.New(records, func() int64 { return 1_700_000_000_000 })
}

func put(t *testing.T, s *account.Store, org string, seat account.Seat, expect int64) error {
	t.Helper()
	tx := s.Begin(t.Context())
	account.Seats.Put(tx, org, seat.UserID, account.StoredSeat{Seat: seat}, expect)
	return tx.Commit()
}

func users(t *testing.T, s *account.Store, org string) []string {
	t.Helper()
	found := []string{}
	for row, err := range account.Seats.All(t.Context(), s, org) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, row.ID)
	}
	return found
}

func TestAnOrgsRecordsAreFoundUnderThatOrgOnly(t *testing.T) {
	s := open(t)
	for org, user := range map[string]string{"acme": "u1", "acme-2": "u2", "b": "u3"} {
		if err := put(t, s, org, account.Seat{UserID: user}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := users(t, s, "acme"); !cmp.Equal(got, []string{"u1"}) {
		t.Errorf("acme lists %v", got)
	}
	if _, found, err := account.Seats.Get(t.Context(), s, "acme", "u2"); found || err != nil {
		t.Errorf("acme finds a seat of acme-2: %v, %v", found, err)
	}
	if _, found, _ := account.Seats.Get(t.Context(), s, "", "acme/u1"); found {
		t.Error("the area of no org finds an org's record")
	}
}

func TestRecordsOfNoOrgAreListed(t *testing.T) {
	s := open(t)
	tx := s.Begin(t.Context())
	for _, org := range []string{"a", "b"} {
		account.OrgIDs.Put(tx, "", org, struct{}{}, 0)
		account.Places.Put(tx, "", account.PlaceID(org, "u"), account.Place{UserID: "u", Org: org}, 0)
	}
	account.Places.Put(tx, "", account.PlaceID("a", "v"), account.Place{UserID: "v", Org: "a"}, 0)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.CountOrgs(t.Context()); n != 2 || err != nil {
		t.Errorf("CountOrgs: %d, %v", n, err)
	}
	var orgs []string
	for row, err := range account.Places.Under(t.Context(), s, "", "u") {
		if err != nil {
			t.Fatal(err)
		}
		orgs = append(orgs, row.Value.Org)
	}
	if !cmp.Equal(orgs, []string{"a", "b"}) {
		t.Errorf("u has places in %v", orgs)
	}
}

func TestALostUpdateIsRefused(t *testing.T) {
	s := open(t)
	if err := put(t, s, "acme", account.Seat{UserID: "u", Kind: account.SeatOwner}, 0); err != nil {
		t.Fatal(err)
	}
	if err := put(t, s, "acme", account.Seat{UserID: "u"}, 0); err != error(account.ErrMoved) {
		t.Errorf("a second creation: %v", err)
	}
	var wg sync.WaitGroup
	lost := make(chan error, 20)
	for range 20 {
		wg.Go(func() { lost <- put(t, s, "acme", account.Seat{UserID: "u", Kind: account.SeatPortal}, 1) })
	}
	wg.Wait()
	close(lost)
	won := 0
	for err := range lost {
		if err == nil {
			won++
		} else if err != error(account.ErrMoved) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of 20 updates of one version were made", won)
	}
}

func TestACommitIsWholeOrNothing(t *testing.T) {
	s := open(t)
	if err := put(t, s, "acme", account.Seat{UserID: "u"}, 0); err != nil {
		t.Fatal(err)
	}
	tx := s.Begin(t.Context())
	account.Seats.Put(tx, "acme", "v", account.StoredSeat{Seat: account.Seat{UserID: "v"}}, 0)
	tx.Audit("acme", "root", "seat.invite", "v", nil)
	account.Seats.Require(tx, "acme", "u", 7)
	if err := tx.Commit(); err != error(account.ErrMoved) {
		t.Fatalf("a requirement that does not hold: %v", err)
	}
	if got := users(t, s, "acme"); !cmp.Equal(got, []string{"u"}) {
		t.Errorf("after the refusal there are %v", got)
	}
	for range account.Log.All(t.Context(), s, "acme") {
		t.Error("a refused commit is in the log")
	}
}

// run does what a request does: takes an id, writes a row under it and the log.
func run(ctx context.Context, s *account.Store) (id string, applied bool, err error) {
	id = account.NewID(ctx)
	if applied, err = s.Applied(ctx); err != nil || applied {
		return id, applied, err
	}
	tx := s.Begin(ctx)
	account.Roles.Put(tx, "acme", id, authz.Role{ID: id, Name: "n"}, 0)
	tx.Audit("acme", "u", "role.create", id, nil)
	return id, false, tx.Commit()
}

func TestRepeatedWorkFindsWhatTheFirstRunMade(t *testing.T) {
	s := open(t)
	work := uuid.New()
	first, applied, err := run(account.WithWork(t.Context(), &account.Work{ID: work, At: 5}), s)
	if err != nil || applied {
		t.Fatalf("first run: %v, %v", applied, err)
	}
	again, applied, err := run(account.WithWork(t.Context(), &account.Work{ID: work, At: 5, Repeated: true}), s)
	if err != nil || !applied || again != first {
		t.Errorf("second run: id %s for %s, applied %v, %v", again, first, applied, err)
	}
	if other, applied, err := run(account.WithWork(t.Context(), &account.Work{ID: uuid.New(), At: 5, Repeated: true}), s); applied || err != nil || other == first {
		t.Errorf("work that was never done is done now: %v, %v", applied, err)
	}
	n := 0
	for range account.Log.All(t.Context(), s, "acme") {
		n++
	}
	if n != 2 {
		t.Errorf("the log has %d entries for two pieces of work", n)
	}
}

func TestWorkTriesARefusedCommitAgainUnderTheSameID(t *testing.T) {
	s := open(t)
	if err := put(t, s, "acme", account.Seat{UserID: "u"}, 0); err != nil {
		t.Fatal(err)
	}
	work := &account.Work{ID: uuid.New(), At: 5}
	ctx := account.WithWork(t.Context(), work)
	expect := int64(0) // moved on since: the first try is refused
	err := account.Retry(func() error {
		tx := s.Begin(ctx)
		account.Seats.Put(tx, "acme", "u", account.StoredSeat{Seat: account.Seat{UserID: "u", Kind: account.SeatAdmin}}, expect)
		expect = 1
		return tx.Commit()
	})
	if err != nil {
		t.Fatal(err)
	}
	if applied, err := s.Applied(account.WithWork(t.Context(), &account.Work{ID: work.ID, At: 5, Repeated: true})); !applied || err != nil {
		t.Errorf("the repeat does not find the commit: %v, %v", applied, err)
	}
}

func TestAnOutageOfStorageIsTold(t *testing.T) {
	driver := memory.New(memory.Options{})
	records, err := driver.Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	s := account.New(records, func() int64 { return 0 })
	_ = driver.Close()
	_, _, err = account.Seats.Get(t.Context(), s, "acme", "u")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != "storage_unavailable" {
		t.Errorf("a read of a closed store: %v", err)
	}
	if err := put(t, s, "acme", account.Seat{UserID: "u"}, 0); !errors.As(err, &f) || f.Code != "storage_unavailable" {
		t.Errorf("a write of a closed store: %v", err)
	}
}

func TestEtagsFollowEachOther(t *testing.T) {
	etag, seen := "", map[string]bool{}
	for range 12 {
		etag = account.NextEtag(etag)
		if seen[etag] {
			t.Fatalf("etag %s twice", etag)
		}
		seen[etag] = true
	}
	if etag != `"12"` || account.NextEtag("") != account.FirstEtag {
		t.Errorf("the twelfth etag is %s", etag)
	}
}

func TestOrgIDsHaveTheFormOfAPartitionsName(t *testing.T) {
	for id, want := range map[string]bool{"acme": true, "a1": true, "0-x": true, "a": false, "-ab": false, "Acme": false, "a_b": false, "": false, "a/b": false, "a\n": false} {
		if account.ValidOrgID(id) != want {
			t.Errorf("ValidOrgID(%q) = %v", id, !want)
		}
	}
	long := fmt.Sprintf("%057d", 0)
	if !account.ValidOrgID(long) || account.ValidOrgID(long+"0") {
		t.Error("an org id has at most 57 characters")
	}
}

func TestAGateReadsEachRecordOnceAndTheNextRequestAnew(t *testing.T) {
	s := open(t)
	if err := put(t, s, "acme", account.Seat{UserID: "u", Kind: account.SeatAdmin}, 0); err != nil {
		t.Fatal(err)
	}
	gate := account.Remember(t.Context())
	kind := func(ctx context.Context) string {
		t.Helper()
		row, found, err := account.Seats.Get(ctx, s, "acme", "u")
		if err != nil || !found {
			t.Fatalf("%v, %v", found, err)
		}
		return string(row.Value.Kind)
	}
	if _, found, err := account.Seats.Get(gate, s, "acme", "later"); found || err != nil {
		t.Fatal(found, err)
	}
	before := kind(gate)
	if err := errors.Join(put(t, s, "acme", account.Seat{UserID: "u", Kind: account.SeatPortal}, 1), put(t, s, "acme", account.Seat{UserID: "later"}, 0)); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := account.Seats.Get(gate, s, "acme", "later"); !found {
		t.Error("that there was none was kept")
	}
	if again, next := kind(gate), kind(account.Remember(t.Context())); again != before || next == before {
		t.Errorf("the gate saw %s and then %s, the next one %s", before, again, next)
	}
}
