package applications_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/internal/remote"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestALinkedApplicationIsAskedWithItsSecret(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	docs := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog})
	w.register("docs", "docs")
	if _, err := w.Linked(ctx, "acme", "docs"); codeOf(err) != "not_linked" {
		t.Errorf("before the link: %v", err)
	}
	if _, err := w.Root(ctx, "acme"); codeOf(err) != "no_org_root" {
		t.Errorf("before the link: %v", err)
	}
	text := w.link("docs", docs)
	if prefix, _, ok := secret.ParseToken(text); !ok || prefix != secret.PrefixProvider {
		t.Error("the provider secret is no token of its kind")
	}
	root, err := w.Root(ctx, "acme")
	w.must(err)
	if _, err := root.Relay.Capabilities(ctx); err != nil || root.ID != "docs" {
		t.Errorf("asking the org root %s: %v", root.ID, err)
	}
	if org := w.org(); org.Mode != account.ModeLinked || *org.PrimaryApplication != "docs" || org.Etag == account.FirstEtag {
		t.Errorf("the org: %+v", org)
	}
	got, err := w.Get(ctx, "acme", "docs")
	w.must(err)
	if *got.SecretHint != secret.Hint(text) || *got.RelayURL != docs.URL || got.State != applications.Linked || got.LinkedAt == nil {
		t.Errorf("the entry: %+v", got)
	}

	old := text
	if text = w.link("docs", docs); text == old {
		t.Error("linking again keeps the secret")
	}
	asked, err := w.Linked(ctx, "acme", "docs")
	w.must(err)
	if _, err := asked.Relay.Capabilities(ctx); err != nil {
		t.Errorf("with the new secret: %v", err)
	}
	docs.SetSecret(old)
	if _, err := asked.Relay.Capabilities(ctx); codeOf(err) != "application_credential_rejected" {
		t.Errorf("an application that still has the old one: %v", err)
	}

	free, err := w.Unlink(ctx, "u_1", "acme", "docs")
	w.must(err)
	if free.RelayURL != nil || free.SecretHint != nil || free.LinkedAt != nil || free.State != applications.Registered {
		t.Errorf("unlinked: %+v", free)
	}
	if _, err := w.Unlink(ctx, "u_1", "acme", "docs"); codeOf(err) != "invalid_transition" {
		t.Errorf("unlinking again: %v", err)
	}
	if org := w.org(); org.Mode != account.ModeUnlinked || org.PrimaryApplication != nil {
		t.Errorf("the org: %+v", org)
	}
	if diff := cmp.Diff([]string{"application.register docs", "application.link docs", "application.link docs", "application.unlink docs"}, w.log()); diff != "" {
		t.Error(diff)
	}
}

// No record, listing or log entry holds a provider secret in the clear.
func TestSecretsAreSealedAtRest(t *testing.T) {
	w := newWorld(t)
	docs := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog})
	w.register("docs", "docs")
	text := w.link("docs", docs)
	records, err := w.driver.Open(t.Context(), account.Partition)
	w.must(err)
	n := 0
	for _, collection := range []string{"applications", "application_health", "namespaces", "orgs", "log"} {
		for record, err := range records.ListRecords(t.Context(), collection, storage.RecordFilter{}, storage.Page{}) {
			w.must(err)
			n++
			if strings.Contains(string(record.Data), text[len(text)-40:]) {
				t.Errorf("%s %s holds the secret", collection, record.ID)
			}
		}
	}
	shown, _, err := w.List(t.Context(), "acme", applications.Query{})
	w.must(err)
	out, err := json.Marshal(shown)
	w.must(err)
	if n < 5 || strings.Contains(string(out), "keyId") || strings.Contains(string(out), text) {
		t.Errorf("%d records; the listing shows %s", n, out)
	}
}

func TestANewHostKeySealsAnewOnUseAndByRekey(t *testing.T) {
	w := newWorld(t)
	docs, mail := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog}), w.serve(remote.Options{ID: "mail", Catalog: docsCatalog})
	w.register("docs", "docs")
	w.register("mail", "mail")
	w.link("docs", docs)
	w.link("mail", mail)
	both, err := w.Get(t.Context(), "acme", "docs")
	w.must(err)

	host := w.with(keys(t, 2, 1))
	if _, err := host.Linked(t.Context(), "acme", "docs"); err != nil {
		t.Fatal(err)
	}
	if n, err := host.Rekey(t.Context(), "acme"); err != nil || n != 1 {
		t.Errorf("after one was used, %d were sealed anew: %v", n, err)
	}
	for _, id := range []string{"docs", "mail"} {
		asked, err := w.with(keys(t, 2)).Linked(t.Context(), "acme", id)
		w.must(err)
		if _, err := asked.Relay.Capabilities(t.Context()); err != nil {
			t.Errorf("%s without the old key: %v", id, err)
		}
	}
	if _, err := w.with(keys(t, 3)).Linked(t.Context(), "acme", "docs"); codeOf(err) != "internal" {
		t.Errorf("without any of its keys: %v", err)
	}
	if after, err := w.Get(t.Context(), "acme", "docs"); err != nil || after.Etag != both.Etag {
		t.Errorf("the etag moved: %v", err)
	}
}

func TestALocalApplicationHasNoSecret(t *testing.T) {
	w := newWorld(t)
	w.register("docs", "docs")
	made, err := w.Link(t.Context(), "u_1", "acme", "docs", "local:docs")
	w.must(err)
	if made.ProviderSecret != nil || made.Withheld || made.Application.SecretHint != nil {
		t.Errorf("%+v", made)
	}
	for _, url := range []string{"local:mail", "local:elsewhere", "local:"} {
		if _, err := w.Link(t.Context(), "u_1", "acme", "docs", url); codeOf(err) != "application_mismatch" {
			t.Errorf("%q: %v", url, err)
		}
	}
	w.register("wiki", "wiki")
	if _, err := w.Link(t.Context(), "u_1", "acme", "wiki", "local:wiki"); codeOf(err) != "relay_url_rejected" {
		t.Errorf("one that the configuration does not list: %v", err)
	}
	for _, url := range []string{"http://10.0.0.1:8080", "ftp://example.com", "", "https://user@example.com"} {
		if _, err := w.Link(t.Context(), "u_1", "acme", "docs", url); codeOf(err) != "relay_url_rejected" {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// An entry that was linked to a neighbour while that was allowed is refused in use.
func TestAStoredLinkToANeighbourReachesNobody(t *testing.T) {
	w := newWorld(t)
	w.register("docs", "docs")
	_, err := w.Link(t.Context(), "u_1", "acme", "docs", "local:docs")
	w.must(err)
	stored := account.Collection[map[string]any]{Name: "applications"}
	row, _, err := stored.Get(t.Context(), w.store, "acme", "docs")
	w.must(err)
	row.Value["relayUrl"] = "local:mail"
	tx := w.store.Begin(t.Context())
	stored.Put(tx, "acme", "docs", row.Value, row.Version)
	w.must(tx.Commit())
	asked, err := w.Linked(t.Context(), "acme", "docs")
	w.must(err)
	if _, err := asked.Relay.Capabilities(t.Context()); codeOf(err) != "application_mismatch" {
		t.Errorf("a read: %v", err)
	}
	if err := asked.Relay.DeleteGrant(t.Context(), "g", authz.AdminProvenance("u_1")); codeOf(err) != "application_mismatch" {
		t.Errorf("a write: %v", err)
	}
	health, err := w.Probe(t.Context(), "acme", "docs")
	w.must(err)
	if health.Status != "mismatch" {
		t.Errorf("the probe: %+v", health)
	}
	_, err = w.Unlink(t.Context(), "u_1", "acme", "docs")
	w.must(err)
}

func TestALinkIsConfirmedAnewWhenItIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	docs := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog})
	w.register("docs", "docs")
	w.link("docs", docs)
	capabilities := func() string {
		asked, err := w.Linked(t.Context(), "acme", "docs")
		w.must(err)
		_, err = asked.Relay.Capabilities(t.Context())
		return codeOf(err)
	}
	if code := capabilities(); code != "" {
		t.Fatal(code)
	}
	other := w.serve(remote.Options{ID: "mail", Catalog: docsCatalog})
	w.link("docs", other)
	if code := capabilities(); code != "application_mismatch" {
		t.Errorf("linked again, to another application: %q", code)
	}
	w.link("docs", docs)
	if code := capabilities(); code != "" {
		t.Errorf("linked back: %q", code)
	}
}

func TestTheCapOfLinksRefusesOnlyOneMore(t *testing.T) {
	w := newWorld(t)
	w.register("docs", "docs")
	w.register("mail", "mail")
	one := int64(1)
	_, err := w.meters.SetCap(t.Context(), "u_1", "acme", billing.LinkedApplications, &one)
	w.must(err)
	_, err = w.Link(t.Context(), "u_1", "acme", "docs", "local:docs")
	w.must(err)
	if _, err := w.Link(t.Context(), "u_1", "acme", "mail", "local:mail"); codeOf(err) != "cap_reached" {
		t.Errorf("one more: %v", err)
	}
	if _, err := w.Link(t.Context(), "u_1", "acme", "docs", "local:docs"); err != nil {
		t.Errorf("the same one again: %v", err)
	}
}

func TestAnotherOrgRootIsTheOwnersToChoose(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"docs", "mail"} {
		w.register(id, id)
		_, err := w.Link(t.Context(), "u_1", "acme", id, "local:"+id)
		w.must(err)
	}
	_, err := w.Unlink(t.Context(), "u_1", "acme", "docs")
	w.must(err)
	if org := w.org(); org.Mode != account.ModeLinked || *org.PrimaryApplication != "docs" {
		t.Errorf("another application became the org root by itself: %+v", org)
	}
	if _, err := w.Root(t.Context(), "acme"); codeOf(err) != "no_org_root" {
		t.Errorf("the primary application is not linked: %v", err)
	}
	w.must(w.Delete(t.Context(), "u_1", "acme", "docs", ""))
	if org := w.org(); org.Mode != account.ModeLinked || org.PrimaryApplication != nil {
		t.Errorf("the primary application is gone: %+v", org)
	}
}

func TestARepeatedLinkWithholdsItsSecret(t *testing.T) {
	w := newWorld(t)
	docs := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog})
	w.register("docs", "docs")
	id := uuid.New()
	again := func() applications.Link {
		made, err := w.Link(account.WithWork(t.Context(), &account.Work{ID: id, At: 1700000000000}), "u_1", "acme", "docs", docs.URL)
		w.must(err)
		return made
	}
	first, second := again(), again()
	if first.ProviderSecret == nil || first.Withheld || second.ProviderSecret != nil || !second.Withheld {
		t.Errorf("shown first: %v, then: %v", first.ProviderSecret != nil, second.ProviderSecret != nil)
	}
	if diff := cmp.Diff(first.Application, second.Application); diff != "" {
		t.Error(diff)
	}
}

func TestARepeatedUnlinkAnswersAsTheFirstTime(t *testing.T) {
	w := newWorld(t)
	w.register("docs", "docs")
	_, err := w.Link(t.Context(), "u_1", "acme", "docs", "local:docs")
	w.must(err)
	id := uuid.New()
	again := func() applications.Application {
		a, err := w.Unlink(account.WithWork(t.Context(), &account.Work{ID: id, At: 1700000000000}), "u_1", "acme", "docs")
		w.must(err)
		return a
	}
	if diff := cmp.Diff(again(), again()); diff != "" {
		t.Error(diff)
	}
	if _, err := w.Unlink(t.Context(), "u_1", "acme", "docs"); codeOf(err) != "invalid_transition" {
		t.Errorf("other work: %v", err)
	}
}

func TestProbesSayWhatTheyFound(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	docs := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog, AuditOptIn: true})
	other := w.serve(remote.Options{ID: "other", Catalog: docsCatalog})
	w.register("docs", "docs")
	if _, err := w.Probe(ctx, "acme", "docs"); codeOf(err) != "not_linked" {
		t.Errorf("before the link: %v", err)
	}
	w.link("docs", docs)
	expect := func(status, detail string, answered bool) {
		t.Helper()
		h, err := w.Probe(ctx, "acme", "docs")
		w.must(err)
		got := ""
		if h.Detail != nil {
			got = *h.Detail
		}
		if h.Status != status || got != detail || (h.API != nil) != answered || h.CheckedAt == nil || h.LatencyMs == nil {
			t.Errorf("%+v with %q instead of %s with %q", h, got, status, detail)
		}
		kept, err := w.Get(ctx, "acme", "docs")
		w.must(err)
		if diff := cmp.Diff(&h, kept.Health); diff != "" {
			t.Error(diff)
		}
	}
	before, err := w.Get(ctx, "acme", "docs")
	w.must(err)
	expect("healthy", "", true)
	docs.SetSecret("somebody-elses-secret")
	expect("unauthorized", "credential rejected", false)
	docs.Instead(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("<html>")) })
	expect("protocol", "malformed answer", false)
	docs.Instead(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"api":2,"application":"docs","orgRoot":true,"hasEpoch":true,"auditOptIn":true}`))
	})
	expect("mismatch", "version", true)
	docs.Instead(nil)
	after, err := w.Get(ctx, "acme", "docs")
	w.must(err)
	if before.Etag != after.Etag {
		t.Error("a probe moved the etag of the entry")
	}
	w.link("docs", other)
	if fresh, err := w.Get(ctx, "acme", "docs"); err != nil || fresh.Health.Status != applications.Unverified {
		t.Errorf("a new link has an old health: %+v, %v", fresh.Health, err)
	}
	expect("mismatch", "application", true)
}

// What a probe finds at one link says nothing about the next, made while it asked.
func TestAProbeOfAnEarlierLinkIsNotKept(t *testing.T) {
	w := newWorld(t)
	docs := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog})
	w.register("docs", "docs")
	w.link("docs", docs)
	docs.Instead(func(rw http.ResponseWriter, _ *http.Request) {
		_, err := w.Link(t.Context(), "u_1", "acme", "docs", docs.URL)
		if err != nil {
			t.Error(err)
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"api":1,"application":"docs","orgRoot":true,"hasEpoch":true,"auditOptIn":true}`))
	})
	_, err := w.Probe(t.Context(), "acme", "docs")
	w.must(err)
	if a, err := w.Get(t.Context(), "acme", "docs"); err != nil || a.Health.Status != applications.Unverified {
		t.Errorf("%+v, %v", a.Health, err)
	}
}

func TestDueProbesLeaveFreshHealthAlone(t *testing.T) {
	w := newWorld(t)
	docs := w.serve(remote.Options{ID: "docs", Catalog: docsCatalog})
	w.register("docs", "docs")
	w.register("idle", "idle")
	w.link("docs", docs)
	checked := func() int64 {
		t.Helper()
		w.must(w.ProbeDue(t.Context(), "acme"))
		a, err := w.Get(t.Context(), "acme", "docs")
		w.must(err)
		return *a.Health.CheckedAt
	}
	first := checked()
	if second := checked(); second != first {
		t.Error("a fresh health was probed again")
	}
	w.clock.Add(time.Minute.Milliseconds())
	third := checked()
	if third == first {
		t.Error("a minute later it was not probed")
	}
	_, err := w.meters.SetCap(t.Context(), "u_1", "acme", billing.LinkedApplications, new(int64(1)))
	w.must(err)
	w.clock.Add(time.Minute.Milliseconds())
	if checked() != third {
		t.Error("over the cap it was probed after a minute")
	}
	w.clock.Add(10 * time.Minute.Milliseconds())
	if checked() == third {
		t.Error("over the cap it was not probed after ten minutes")
	}
}

func TestARequestFindsItsRootOnceAndTheNextSeesWhatChanged(t *testing.T) {
	w := newWorld(t)
	w.register("docs", "docs")
	request := applications.WithOneRoot(t.Context())
	if _, err := w.Root(request, "acme"); codeOf(err) != "no_org_root" {
		t.Fatalf("nothing is linked: %v", err)
	}
	w.link("docs", w.serve(remote.Options{ID: "docs", Catalog: docsCatalog}))
	if root, err := w.Root(request, "acme"); err != nil || root.ID != "docs" {
		t.Fatalf("that there is none was kept: %v, %v", root.ID, err)
	}
	if _, err := w.Unlink(t.Context(), "u_1", "acme", "docs"); err != nil {
		t.Fatal(err)
	}
	if root, err := w.Root(request, "acme"); err != nil || root.ID != "docs" {
		t.Errorf("the root of one request is another: %v, %v", root.ID, err)
	}
	if _, err := w.Root(applications.WithOneRoot(t.Context()), "acme"); codeOf(err) != "no_org_root" {
		t.Errorf("the next request: %v", err)
	}
}
