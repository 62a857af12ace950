package service_test

import (
	"testing"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
)

func count[T any](w *world, c account.Collection[T], org string) (n int) {
	w.t.Helper()
	for _, err := range c.All(w.t.Context(), w.accounts, org) {
		if err != nil {
			w.t.Fatal(err)
		}
		n++
	}
	return n
}

func TestWhatHasEndedIsSweptAndNothingElse(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	w.member(owner, "u1", account.SeatPortal)
	tx := w.accounts.Begin(t.Context())
	for i := range 1200 { // more than two pages
		id := time.UnixMilli(int64(i)).Format("150405.000")
		account.Sessions.Put(tx, "", "old-"+id, account.StoredSession{Session: account.Session{ID: id, UserID: "gone", ExpiresAt: 1, IdleExpiresAt: 1}}, 0)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	live, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("live")})
	revoked, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("revoked")})
	expired, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("expired"), ExpiresAt: new(w.clock.Load() + 1000)})
	expect(t, "revoke", w.s.RevokeKey(t.Context(), owner, revoked.APIKey.ID, nil), "ok")

	sweepAll := func(sessions, keys int) {
		t.Helper()
		for _, s := range []*service.Service{w.s, w.host(service.Options{})} { // whichever host comes by, and again
			expect(t, "sessions", s.SweepSessions(t.Context()), "ok")
			expect(t, "keys", s.SweepKeys(t.Context(), "acme"), "ok")
		}
		if n := count(w, account.Sessions, ""); n != sessions {
			t.Errorf("%d sessions are left, want %d", n, sessions)
		}
		if n, orgs := count(w, account.Keys, "acme"), count(w, account.KeyOrgs, ""); n != keys || orgs != keys {
			t.Errorf("%d keys of %d orgs are left, want %d", n, orgs, keys)
		}
	}
	sweepAll(2, 3)
	w.pass(89 * 24 * time.Hour) // ended keys are listed for a while
	sweepAll(0, 3)
	w.pass(2 * 24 * time.Hour)
	sweepAll(0, 1)
	_, err := w.bearer(w.s, live.Secret)
	expect(t, "the live key", err, "ok")
	for _, gone := range []service.IssuedKey{revoked, expired} {
		_, err := w.bearer(w.s, gone.Secret)
		expect(t, "a key that is gone", err, badKey)
	}
}
