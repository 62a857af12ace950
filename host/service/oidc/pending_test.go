package oidc_test

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/host/service/oidc/idptest"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/sdk/storage"
)

func TestTheOldestUnfinishedSignInGoesWhenThereAreTenThousand(t *testing.T) {
	w := newWorld(t, nil)
	oldest, second := w.start(), w.start()
	rings := account.Collection[map[string]int64]{Name: "oidc_ring"}
	row, found, err := rings.Get(w.ctx, w.accounts, "", "ring")
	if err != nil || !found || row.Value["next"] != 2 {
		t.Fatal(row, found, err)
	}
	tx := w.accounts.Begin(w.ctx)
	rings.Put(tx, "", "ring", map[string]int64{"next": 10_000}, row.Version)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	newest := w.start()
	w.refused(oldest, oidc.StateUnknown)
	for _, a := range []oidc.Answer{second, newest} {
		if _, err := w.b.Finish(w.ctx, a); err != nil {
			t.Error(err)
		}
	}
}

func TestHostsThatBeginAtOnceShareTheRing(t *testing.T) {
	w := newWorld(t, nil)
	seen := make(chan string, 40)
	for range 20 {
		for _, host := range []*oidc.Provider{w.a, w.b} {
			go func() {
				s, err := host.Start(w.ctx, "acme", "")
				if err != nil {
					t.Error(err)
				}
				seen <- s.Cookie
			}()
		}
	}
	for range cap(seen) {
		<-seen
	}
	n := 0
	for _, err := range w.pending() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 40 {
		t.Errorf("%d sign-ins are kept of 40", n)
	}
}

// pending lists the stored sign-ins as they lie there.
func (w *world) pending() func(func(storage.Record, error) bool) {
	return w.store.ListRecords(w.ctx, "oidc", storage.RecordFilter{Index: 1, Value: "/"}, storage.Page{})
}

func TestNothingOfASignInLiesOpenInStorage(t *testing.T) {
	w := newWorld(t, nil)
	a := w.start()
	n := 0
	for record, err := range w.pending() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, open := range []string{a.State[5:], a.Cookie, "acme", "tab=keys", "verifier"} {
			if strings.Contains(string(record.Data), open) {
				t.Errorf("%s shows %s", record.Data, open)
			}
		}
	}
	if n != 1 {
		t.Error(n, "records")
	}
	w.ahead.Add(oidc.Lifetime.Milliseconds() + 60_000)
	w.start()
	n = 0
	for _, err := range w.pending() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d records: what is over is taken out", n)
	}
}

func TestANewHostKeyIsPutOverUnfinishedSignIns(t *testing.T) {
	w := newWorld(t, nil)
	a := w.start()
	old, next := []byte("0123456789abcdef0123456789abcdef"), []byte("fedcba9876543210fedcba9876543210")
	both, err := secret.NewKeys([][]byte{next, old})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if n, err := oidc.Rekey(w.ctx, w.accounts, both); n != want || err != nil {
			t.Fatal(n, err)
		}
	}
	only, err := secret.NewKeys([][]byte{next})
	if err != nil {
		t.Fatal(err)
	}
	after, err := oidc.New(oidc.Options{Issuer: idp.Issuer, ClientID: idptest.ClientID, ClientSecret: clientSecret, UserIDClaim: "sub",
		PublicURL: "http://127.0.0.1:4711", Accounts: w.accounts, Keys: only, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := after.Finish(w.ctx, a); err != nil || id.UserID != "u_42" {
		t.Error(id, err)
	}
}
