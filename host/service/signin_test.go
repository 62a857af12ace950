package service_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	failed  = "UnauthenticatedError sign_in_failed"
	limited = "RateLimitedError rate_limited"
	noSeat  = "CloudError seat_required"
	expired = "UnauthenticatedError session_expired"
	badKey  = "UnauthenticatedError credential_invalid"
	noOrg   = "CloudError org_not_found"
	denied  = "AccessDeniedError forbidden"
)

func (w *world) try(org, user, password, address string, direct bool) error {
	_, err := w.s.SignInBootstrap(w.t.Context(), service.BootstrapProof{Secret: password, Direct: direct,
		Proved: service.Proved{Org: org, UserID: user, Address: address}})
	return err
}

func TestTheBootstrapCredentialOpensAnEmptyHostAndOrgsItsUserOwns(t *testing.T) {
	w := newWorld(t)
	expect(t, "no org exists", w.try("", bootUser, bootSecret, "192.0.2.1", false), "ok")
	owner := w.org("acme")
	expect(t, "where it owns", w.try("acme", bootUser, bootSecret, "192.0.2.1", false), "ok")
	expect(t, "without org while one exists", w.try("", bootUser, bootSecret, "192.0.2.1", false), noSeat)
	expect(t, "unknown org", w.try("nowhere", bootUser, bootSecret, "192.0.2.1", false), noSeat)
	expect(t, "no org's form", w.try("NO/WHERE", bootUser, bootSecret, "192.0.2.1", false), noSeat)
	expect(t, "another user", w.try("acme", "u1", bootSecret, "192.0.2.2", false), failed)
	expect(t, "wrong secret", w.try("acme", bootUser, "wrong", "192.0.2.2", false), failed)
	expect(t, "no secret", w.try("acme", bootUser, "", "192.0.2.2", false), failed)

	w.member(owner, "second", account.SeatOwner)
	if _, err := w.s.UpdateSeat(t.Context(), owner, bootUser, service.SeatUpdate{Kind: new(account.SeatAdmin)}, nil); err != nil {
		t.Fatal(err)
	}
	expect(t, "where it is no owner", w.try("acme", bootUser, bootSecret, "192.0.2.1", false), noSeat)
	if n := slices.Index(w.actions("acme"), "session.refuse"); n < 0 {
		t.Error("refused sign-ins are not in the log")
	}
}

func TestTheBootstrapCredentialIsOffWithOIDCUnlessKept(t *testing.T) {
	boot := service.Bootstrap{UserID: bootUser, Secret: bootSecret}
	off := worldOf(t, service.Options{OIDC: true, Bootstrap: boot})
	expect(t, "off", off.try("", bootUser, bootSecret, "192.0.2.1", false), failed)
	boot.Keep = true
	kept := worldOf(t, service.Options{OIDC: true, Bootstrap: boot})
	expect(t, "kept", kept.try("", bootUser, bootSecret, "192.0.2.1", false), "ok")
}

func TestAnUnconfiguredBootstrapCredentialAdmitsNobody(t *testing.T) {
	w := worldOf(t, service.Options{Bootstrap: service.Bootstrap{Keep: true}})
	expect(t, "empty", w.try("", "", "", "192.0.2.1", true), failed)
}

func TestFailedProofsAreCountedByAddressAndInAll(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		expect(t, "a guess", w.try("", bootUser, "wrong", "2001:db8::1", false), failed)
	}
	expect(t, "the sixth of one /64, though it is right", w.try("", bootUser, bootSecret, "2001:db8::2", false), limited)
	expect(t, "direct loopback has its own count", w.try("", bootUser, bootSecret, "127.0.0.1", true), "ok")
	for i := range 5 {
		expect(t, "guess of others", w.try("", bootUser, "wrong", "192.0.2."+string(rune('1'+i)), false), failed)
	}
	expect(t, "past ten in all", w.try("", bootUser, bootSecret, "198.51.100.9", false), limited)
	expect(t, "the break-glass door stays", w.try("", bootUser, bootSecret, "127.0.0.1", true), "ok")
	w.s = w.host(service.Options{})
	expect(t, "another host, after a restart", w.try("", bootUser, bootSecret, "198.51.100.9", false), limited)
	w.pass(16 * time.Minute)
	expect(t, "the address is heard again but for the count of all", w.try("", bootUser, bootSecret, "2001:db8::1", false), limited)
	w.pass(45 * time.Minute)
	expect(t, "an hour later", w.try("", bootUser, bootSecret, "2001:db8::1", false), "ok")
}

func TestGuessesAtTheSameTimeDoNotOutrunTheirCount(t *testing.T) {
	w := newWorld(t)
	results := make(chan string, 30)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() { results <- said(w.try("", bootUser, "wrong", "192.0.2.1", false)) })
	}
	wg.Wait()
	close(results)
	count := map[string]int{}
	for r := range results {
		count[r]++
	}
	if count[failed] != 5 || count[limited] != 25 {
		t.Errorf("of 30 guesses: %v", count)
	}
}

func TestFirstSignInActivatesAnInvitedSeat(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	if _, err := w.s.InviteSeat(t.Context(), owner, service.SeatInput{UserID: "u1", Kind: account.SeatAdmin}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.meters.SetCap(t.Context(), bootUser, "acme", "admin_seats", new(int64(1))); err != nil {
		t.Fatal(err)
	}
	_, err := w.s.SignIn(t.Context(), service.Proved{Org: "acme", UserID: "u1", Method: service.MethodOIDC})
	expect(t, "over the cap", err, "CloudError cap_reached")
	if _, err := w.meters.SetCap(t.Context(), bootUser, "acme", "admin_seats", nil); err != nil {
		t.Fatal(err)
	}
	in := w.signIn("acme", "u1")
	if in.Seat.State != account.SeatActive || in.Seat.ActivatedAt == nil {
		t.Errorf("the seat is %+v", in.Seat)
	}
	for _, action := range []string{"seat.invite", "session.create", "seat.activate"} {
		if !slices.Contains(w.actions("acme"), action) {
			t.Errorf("%s is not in the log: %v", action, w.actions("acme"))
		}
	}
	_, err = w.s.SignIn(t.Context(), service.Proved{Org: "acme", UserID: "stranger", Method: service.MethodOIDC})
	expect(t, "a good proof without a seat", err, noSeat)
}

func TestASessionLivesAsLongAsItIsUsedAndNoLonger(t *testing.T) {
	w := newWorld(t)
	w.org("acme")
	in := w.boot("acme")
	other := w.host(service.Options{})
	for range 20 { // ten hours, an act every half hour
		w.pass(30 * time.Minute)
		w.caller(in.Token)
	}
	w.pass(61 * time.Minute)
	_, err := other.Authenticate(t.Context(), service.Presented{Cookie: in.Token})
	expect(t, "idle for over an hour", err, expired)

	in = w.boot("acme")
	for range 23 {
		w.pass(30 * time.Minute)
		w.caller(in.Token)
	}
	w.pass(31 * time.Minute)
	_, err = w.s.Authenticate(t.Context(), service.Presented{Cookie: in.Token})
	expect(t, "past twelve hours", err, expired)
}

func TestSessionsEndWhereTheyAreEndedAndOnEveryHost(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	other := w.host(service.Options{})
	gone := func(what, token string) {
		t.Helper()
		_, err := other.Authenticate(t.Context(), service.Presented{Cookie: token})
		expect(t, what, err, expired)
	}
	w.member(owner, "u1", account.SeatPortal)

	in := w.signIn("acme", "u1")
	if err := w.s.SignOut(t.Context(), w.caller(in.Token)); err != nil {
		t.Fatal(err)
	}
	gone("sign-out", in.Token)

	a, b := w.signIn("acme", "u1"), w.signIn("acme", "u1")
	expect(t, "somebody else's session", w.s.RevokeSession(t.Context(), owner.Caller, b.Session.ID), "CloudError session_not_found")
	expect(t, "one's own", w.s.RevokeSession(t.Context(), w.caller(a.Token), b.Session.ID), "ok")
	gone("revoked", b.Token)

	expect(t, "all of a seat's", w.s.RevokeSessions(t.Context(), owner, "u1"), "ok")
	gone("revoke all", a.Token)

	c := w.signIn("acme", "u1")
	replaced, err := w.s.SignIn(t.Context(), service.Proved{Org: "acme", UserID: "u1", Method: service.MethodOIDC, Cookie: c.Token})
	if err != nil {
		t.Fatal(err)
	}
	gone("the session whose cookie came with a sign-in", c.Token)
	boss := w.boot("acme")
	if _, err := w.s.SignIn(t.Context(), service.Proved{Org: "acme", UserID: "u1", Method: service.MethodOIDC, Cookie: boss.Token}); err != nil {
		t.Fatal(err)
	}
	gone("another user's, too", boss.Token)

	expect(t, "seat removal", w.s.RemoveSeat(t.Context(), owner, "u1", nil), "ok")
	gone("its sessions", replaced.Token)
}

func TestInvitingAStrangerEndsNoneOfTheirSessions(t *testing.T) {
	w := newWorld(t)
	w.member(w.org("acme"), "u1", account.SeatPortal)
	theirs := w.signIn("acme", "u1")
	evil := w.org("evil")
	if _, err := w.s.InviteSeat(t.Context(), evil, service.SeatInput{UserID: "u1"}); err != nil {
		t.Fatal(err)
	}
	expect(t, "revoke all", w.s.RevokeSessions(t.Context(), evil, "u1"), "ok")
	expect(t, "remove", w.s.RemoveSeat(t.Context(), evil, "u1", nil), "ok")
	w.caller(theirs.Token)
}

func TestAUserHasTwentySessionsAndTheOldestGivesWay(t *testing.T) {
	w := newWorld(t)
	w.org("acme")
	first := w.boot("acme")
	for range 20 {
		w.pass(time.Second)
		w.boot("acme")
	}
	_, err := w.s.Authenticate(t.Context(), service.Presented{Cookie: first.Token})
	expect(t, "the oldest", err, expired)
	w.pass(time.Second)
	now := w.boot("acme")
	list, err := w.s.Sessions(t.Context(), w.caller(now.Token), service.Page{Limit: 100})
	if err != nil || len(list.Rows) != service.MaxSessions || !list.Rows[0].Current {
		t.Errorf("%d sessions, %v; the newest is first", len(list.Rows), err)
	}
}

func TestCSRFTokensBelongToOneSession(t *testing.T) {
	w := newWorld(t)
	w.org("acme")
	a, b := w.boot("acme"), w.boot("acme")
	if !w.s.ValidCSRF(a.Session.ID, a.CSRFToken) || w.s.ValidCSRF(b.Session.ID, a.CSRFToken) || w.s.ValidCSRF(a.Session.ID, "") {
		t.Error("a token is good for its own session only")
	}
	current, err := w.s.CurrentSession(t.Context(), w.caller(a.Token))
	if err != nil || current.CSRFToken != a.CSRFToken || !current.Session.Current {
		t.Errorf("GET /auth/session: %+v, %v", current, err)
	}
}

func TestAnInvitedOwnerIsNotLockedOutByTheCap(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	if _, err := w.s.InviteSeat(t.Context(), owner, service.SeatInput{UserID: "u1", Kind: account.SeatOwner}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.meters.SetCap(t.Context(), bootUser, "acme", "admin_seats", new(int64(1))); err != nil {
		t.Fatal(err)
	}
	if in := w.signIn("acme", "u1"); in.Seat.State != account.SeatActive {
		t.Errorf("the seat is %+v", in.Seat)
	}
}

// slow takes its time to commit, so that what was read at once is written at once.
type slow struct{ storage.Store }

func (s slow) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	time.Sleep(20 * time.Millisecond)
	return s.Store.Commit(ctx, c)
}

func TestSignInsAtTheSameTimeDoNotOutrunTheLimitOfSessions(t *testing.T) {
	w := newWorld(t)
	w.member(w.org("acme"), "u1", account.SeatPortal)
	for range 15 {
		w.signIn("acme", "u1")
	}
	w.accounts = account.New(slow{w.records}, w.clock.Load)
	w.s = w.host(service.Options{})
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			if _, err := w.s.SignIn(t.Context(), service.Proved{Org: "acme", UserID: "u1", Method: service.MethodOIDC}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for range account.Sessions.Under(t.Context(), w.accounts, "", "u1") {
		n++
	}
	if n != service.MaxSessions {
		t.Errorf("%d sessions", n)
	}
}

func TestTheRecordOfFailedProofsIsBounded(t *testing.T) {
	type failure struct {
		Address string `json:"address"`
		At      int64  `json:"at"`
	}
	w := newWorld(t)
	record := account.Collection[[]failure]{Name: "proof_failures"}
	many := make([]failure, 5000)
	for i := range many {
		many[i] = failure{"127.0.0.2", w.clock.Load()}
	}
	tx := w.accounts.Begin(t.Context())
	record.Put(tx, "", "bootstrap", many, 0)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, "one more of this machine", w.try("", bootUser, "wrong", "127.0.0.1", true), failed)
	row, _, err := record.Get(t.Context(), w.accounts, "", "bootstrap")
	if err != nil || len(row.Value) > 1000 || row.Value[len(row.Value)-1].Address != "127.0.0.1" {
		t.Errorf("%d failures are kept, %v", len(row.Value), err)
	}
}
