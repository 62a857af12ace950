package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const (
	escalates = "CloudError escalation_refused"
	invalid   = "CloudError invalid_request"
)

func TestRotationOverlapsAndThenDoesNot(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	other := w.host(service.Options{})
	key, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	works := func(what, token, want string) {
		t.Helper()
		_, err := w.bearer(other, token)
		expect(t, what, err, want)
	}
	next, err := w.s.RotateKey(t.Context(), owner, key.APIKey.ID, service.RotateInput{})
	if err != nil {
		t.Fatal(err)
	}
	if next.APIKey.ID != key.APIKey.ID || *next.APIKey.ExpiresAt != *key.APIKey.ExpiresAt || next.APIKey.Etag == key.APIKey.Etag {
		t.Errorf("rotation keeps id and expiry: %+v", next.APIKey)
	}
	works("the old secret in the overlap", key.Secret, "ok")
	works("the new secret", next.Secret, "ok")
	_, err = w.s.RotateKey(t.Context(), owner, key.APIKey.ID, service.RotateInput{})
	expect(t, "a second rotation while one is pending", err, "CloudError invalid_transition")
	w.pass(24 * time.Hour)
	works("the old secret after it", key.Secret, badKey)
	owner = w.enter(w.caller(w.boot("acme").Token), "acme") // a proof of a day ago makes no keys
	last, err := w.s.RotateKey(t.Context(), owner, key.APIKey.ID, service.RotateInput{OverlapMs: new(int64(0))})
	if err != nil {
		t.Fatal(err)
	}
	works("with no overlap, the one before", next.Secret, badKey)
	works("the last one", last.Secret, "ok")
	_, err = w.s.RotateKey(t.Context(), owner, key.APIKey.ID, service.RotateInput{OverlapMs: new(int64(604800001))})
	expect(t, "too long an overlap", err, invalid)

	expect(t, "revoke", w.s.RevokeKey(t.Context(), owner, key.APIKey.ID, nil), "ok")
	works("revoked, at once and on the other host", last.Secret, badKey)
	expect(t, "again", w.s.RevokeKey(t.Context(), owner, key.APIKey.ID, nil), "ok")
	expect(t, "an absent one", w.s.RevokeKey(t.Context(), owner, "abc", nil), "CloudError api_key_not_found")
}

func TestKeysExpire(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	now := w.clock.Load()
	day := (24 * time.Hour).Milliseconds()
	key, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	if *key.APIKey.ExpiresAt != now+90*day {
		t.Errorf("an admin key lives %d days by default", (*key.APIKey.ExpiresAt-now)/day)
	}
	forever, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("ci")})
	if forever.APIKey.ExpiresAt != nil {
		t.Error("a principal key has no end by default")
	}
	for at, want := range map[int64]string{now + 366*day: "ok", now + 366*day + 1: invalid, now: invalid, -5: invalid} {
		_, err := w.s.CreateKey(t.Context(), owner, service.KeyInput{Kind: account.KeyAdmin, Name: "k", ExpiresAt: &at})
		expect(t, "an admin key until "+time.UnixMilli(at).String(), err, want)
	}
	w.pass(90 * 24 * time.Hour)
	_, err := w.bearer(w.s, key.Secret)
	expect(t, "expired", err, badKey)
}

func TestNoKeyOutlivesTheAdminKeyThatCreatedIt(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	parent, caller := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	a := w.enter(caller, "acme")
	child, _ := w.keyFor(a, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("ci")})
	if child.APIKey.ExpiresAt == nil || *child.APIKey.ExpiresAt != *parent.APIKey.ExpiresAt {
		t.Errorf("the child ends at %v", child.APIKey.ExpiresAt)
	}
	_, err := w.s.CreateKey(t.Context(), a, service.KeyInput{Kind: account.KeyAdmin, Name: "k", ExpiresAt: new(*parent.APIKey.ExpiresAt + 1)})
	expect(t, "longer than its creator", err, invalid)
	expect(t, "revoke the creator", w.s.RevokeKey(t.Context(), owner, parent.APIKey.ID, nil), "ok")
	_, err = w.bearer(w.s, child.Secret)
	expect(t, "the child", err, badKey)
}

func TestAnAdminKeyDiesWithItsSeatAndFollowsItsKind(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	admin := w.member(owner, "admin", account.SeatAdmin)
	key, caller := w.keyFor(admin, service.KeyInput{Kind: account.KeyAdmin})
	gate := func(want string) {
		t.Helper()
		_, err := w.s.Authorize(t.Context(), caller, "acme", "", service.Cloud(cloud.BillingRead), false)
		expect(t, "the key", err, want)
	}
	gate("ok")
	if _, err := w.s.UpdateSeat(t.Context(), owner, "admin", service.SeatUpdate{Kind: new(account.SeatPortal)}, nil); err != nil {
		t.Fatal(err)
	}
	gate(denied)
	expect(t, "remove the seat", w.s.RemoveSeat(t.Context(), owner, "admin", nil), "ok")
	_, err := w.bearer(w.s, key.Secret)
	expect(t, "the key of a removed seat", err, badKey)
	w.member(owner, "admin", account.SeatAdmin)
	_, err = w.bearer(w.s, key.Secret)
	expect(t, "keys are never un-revoked", err, badKey)
}

func TestWhoMayManageWhichKeys(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	w.register("docs", "docs")
	w.register("mail", "mail")
	portal := w.member(owner, "portal", account.SeatPortal)
	publisher := func(ns string) service.KeyInput {
		return service.KeyInput{Kind: account.KeyPublisher, Name: "k", Namespace: &ns}
	}
	create := func(a *service.Access, in service.KeyInput) error {
		_, err := w.s.CreateKey(t.Context(), w.enter(a.Caller, "acme"), in)
		return err
	}
	ownersKey, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	expect(t, "without the key: of a namespace", create(portal, publisher("docs")), denied)
	expect(t, "of an absent one alike", create(portal, publisher("none")), denied)
	expect(t, "an absent key alike", w.s.RevokeKey(t.Context(), portal, "none", nil), denied)
	expect(t, "a present key alike", w.s.RevokeKey(t.Context(), portal, ownersKey.APIKey.ID, nil), denied)

	w.allow(owner, provider.GrantInput{Subject: "user:portal", Pattern: cloud.ManageCredentials, Scope: cloud.App("docs")})
	expect(t, "for a namespace that they may not publish for", create(portal, publisher("docs")), escalates)
	w.allow(owner, provider.GrantInput{Subject: "user:portal", Pattern: cloud.PublishCatalog, Scope: cloud.App("docs")})
	expect(t, "at the namespace's application", create(portal, publisher("docs")), "ok")
	expect(t, "at another's", create(portal, publisher("mail")), denied)
	expect(t, "other kinds need it at the org", create(portal, service.KeyInput{Kind: account.KeyAdmin, Name: "k"}), denied)
	expect(t, "nobody's namespace", create(owner, publisher("none")), "CloudError namespace_not_found")

	w.allow(owner, provider.GrantInput{Subject: "user:portal", Pattern: cloud.ManageCredentials},
		provider.GrantInput{Subject: "service:billing", Pattern: cloud.BillingRead})
	portal = w.enter(portal.Caller, "acme")
	expect(t, "a key of a service that holds more", create(portal, service.KeyInput{Kind: account.KeyPrincipal, Name: "k", ServiceID: new("billing")}), escalates)
	_, err := w.s.RotateKey(t.Context(), portal, ownersKey.APIKey.ID, service.RotateInput{})
	expect(t, "a new secret of the owner's key", err, escalates)

	for name, in := range map[string]service.KeyInput{
		"no kind": {Name: "k"}, "no name": {Kind: account.KeyAdmin}, "no service": {Kind: account.KeyPrincipal, Name: "k"},
		"a service for an admin key": {Kind: account.KeyAdmin, Name: "k", ServiceID: new("x")},
		"a bad service":              {Kind: account.KeyPrincipal, Name: "k", ServiceID: new("a b")},
	} {
		expect(t, name, create(owner, in), invalid)
	}
}

func TestListingsHoldNoSecret(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	key, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	w.pass(time.Second)
	w.keyFor(owner, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("ci")})
	list, err := w.s.APIKeys(t.Context(), owner, service.KeyQuery{}, service.Page{Limit: 1})
	if err != nil || len(list.Rows) != 1 || list.Next == "" || list.Rows[0].ID != key.APIKey.ID {
		t.Fatalf("the first page: %+v, %v", list, err)
	}
	rest, err := w.s.APIKeys(t.Context(), owner, service.KeyQuery{}, service.Page{Limit: 5, After: list.Next})
	if err != nil || len(rest.Rows) != 1 || rest.Next != "" {
		t.Fatalf("the second page: %+v, %v", rest, err)
	}
	text, err := authz.Marshal(append(list.Rows, rest.Rows...))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), key.Secret) || strings.Contains(string(text), "hash") {
		t.Errorf("a listing tells a secret or its digest: %s", text)
	}
	if list.Rows[0].Hint == "" || !strings.HasSuffix(key.Secret, list.Rows[0].Hint[len(list.Rows[0].Hint)-4:]) {
		t.Errorf("the hint is %q", list.Rows[0].Hint)
	}
}

func TestUseIsNotedOffTheRequestPathAndLeavesTheEtag(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	key, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	deadline := time.Now().Add(30 * time.Second)
	for {
		row, _, err := account.Keys.Get(t.Context(), w.accounts, "acme", key.APIKey.ID)
		if err != nil {
			t.Fatal(err)
		}
		if row.Value.LastUsedAt != nil {
			if *row.Value.LastUsedAt != w.clock.Load() || row.Value.Etag != key.APIKey.Etag {
				t.Errorf("noted: %+v", row.Value.APIKey)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the use is not noted")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestARepeatedCreationMakesOneKeyAndWithholdsItsSecret(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	work, in := uuid.New(), service.KeyInput{Kind: account.KeyAdmin, Name: "k"}
	ctx := account.WithWork(t.Context(), &account.Work{ID: work, At: w.clock.Load()})
	first, err := w.s.CreateKey(ctx, owner, in)
	if err != nil {
		t.Fatal(err)
	}
	ctx = account.WithWork(t.Context(), &account.Work{ID: work, At: w.clock.Load(), Repeated: true})
	again, err := w.s.CreateKey(ctx, owner, in)
	if err != nil || again.APIKey.ID != first.APIKey.ID || again.Secret != "" {
		t.Errorf("the repeat: %+v, secret of %d characters, %v", again.APIKey, len(again.Secret), err)
	}
	list, err := w.s.APIKeys(t.Context(), owner, service.KeyQuery{}, service.Page{Limit: 10})
	if err != nil || len(list.Rows) != 1 {
		t.Errorf("%d keys, %v", len(list.Rows), err)
	}

	rotate := uuid.New()
	ctx = account.WithWork(t.Context(), &account.Work{ID: rotate, At: w.clock.Load()})
	if _, err := w.s.RotateKey(ctx, owner, first.APIKey.ID, service.RotateInput{}); err != nil {
		t.Fatal(err)
	}
	ctx = account.WithWork(t.Context(), &account.Work{ID: rotate, At: w.clock.Load(), Repeated: true})
	if again, err = w.s.RotateKey(ctx, owner, first.APIKey.ID, service.RotateInput{}); err != nil || again.Secret != "" {
		t.Errorf("the repeated rotation: %v", err)
	}
}

func TestAKeyThatEndsOnTheWayEndsWhatItDoes(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	w.register("docs", "docs")
	key, caller := w.keyFor(owner, service.KeyInput{Kind: account.KeyPublisher, Namespace: new("docs")})
	still := w.s.StillHolds(caller)
	tx := w.accounts.Begin(t.Context())
	expect(t, "a live key", still(t.Context(), tx), "ok")
	tx.Audit("acme", caller.Actor(), "registry.publish", "docs", nil)
	expect(t, "its revocation", w.s.RevokeKey(t.Context(), owner, key.APIKey.ID, nil), "ok")
	if err := tx.Commit(); err != error(account.ErrMoved) {
		t.Errorf("the commit of a key that was revoked beside it: %v", err)
	}
	expect(t, "judged again", still(t.Context(), w.accounts.Begin(t.Context())), badKey)
}
