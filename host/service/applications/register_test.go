package applications_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestRegisteringClaimsNamespaces(t *testing.T) {
	w := newWorld(t)
	got := w.register("docs", "docs", "drafts")
	want := applications.Application{ID: "docs", Name: "docs", Namespaces: []string{"docs", "drafts"}, State: applications.Registered,
		Health: &applications.Health{Status: applications.Unverified}, Registry: []applications.Published{{Namespace: "docs"}, {Namespace: "drafts"}},
		CreatedAt: got.CreatedAt, CreatedBy: "u_1", Etag: account.FirstEtag}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct {
		r    applications.Registration
		code string
	}{
		"the id again":        {applications.Registration{ID: "docs", Name: "x", Namespaces: []string{"other"}}, "application_id_taken"},
		"a namespace again":   {applications.Registration{ID: "mail", Name: "x", Namespaces: []string{"mail", "drafts"}}, "namespace_taken"},
		"a capital":           {applications.Registration{ID: "Docs", Name: "x", Namespaces: []string{"mail"}}, "invalid_request"},
		"a newline at the id": {applications.Registration{ID: "mail\n", Name: "x", Namespaces: []string{"mail"}}, "invalid_request"},
		"a long id":           {applications.Registration{ID: strings.Repeat("a", 64), Name: "x", Namespaces: []string{"mail"}}, "invalid_request"},
		"no name":             {applications.Registration{ID: "mail", Namespaces: []string{"mail"}}, "invalid_request"},
		"no namespace":        {applications.Registration{ID: "mail", Name: "x"}, "invalid_request"},
		"two segments":        {applications.Registration{ID: "mail", Name: "x", Namespaces: []string{"mail.box"}}, "invalid_request"},
		"a namespace twice":   {applications.Registration{ID: "mail", Name: "x", Namespaces: []string{"mail", "mail"}}, "invalid_request"},
		"cloud":               {applications.Registration{ID: "mail", Name: "x", Namespaces: []string{"mail", "cloud"}}, "namespace_reserved"},
		"authz_internal":      {applications.Registration{ID: "mail", Name: "x", Namespaces: []string{"authz_internal"}}, "namespace_reserved"},
	} {
		if _, err := w.Register(t.Context(), "u_1", "acme", c.r); codeOf(err) != c.code {
			t.Errorf("%s: %v instead of %s", name, err, c.code)
		}
	}
	if _, err := w.Get(t.Context(), "acme", "mail"); codeOf(err) != "application_not_found" {
		t.Errorf("what was refused is there: %v", err)
	}
	if _, err := w.Get(t.Context(), "other", "docs"); codeOf(err) != "application_not_found" {
		t.Errorf("another org sees it: %v", err)
	}
	if _, err := w.Register(t.Context(), "u_1", "other", applications.Registration{ID: "docs", Name: "docs", Namespaces: []string{"docs"}}); err != nil {
		t.Errorf("another org cannot have the same names: %v", err)
	}
	if diff := cmp.Diff([]string{"application.register docs"}, w.log()); diff != "" {
		t.Error(diff)
	}
}

func TestFiftyRegistrationsAtOnceMakeOneApplication(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	codes := make(chan string, 50)
	for range 50 {
		all.Go(func() {
			_, err := w.Register(t.Context(), "u_1", "acme", applications.Registration{ID: "docs", Name: "docs", Namespaces: []string{"docs"}})
			codes <- codeOf(err)
		})
	}
	all.Wait()
	close(codes)
	counts := map[string]int{}
	for code := range codes {
		counts[code]++
	}
	if diff := cmp.Diff(map[string]int{"": 1, "application_id_taken": 49}, counts); diff != "" {
		t.Error(diff)
	}
}

func TestWorkThatIsRepeatedAnswersAsTheFirstTime(t *testing.T) {
	w := newWorld(t)
	work := uuid.New()
	again := func() (applications.Application, error) {
		ctx := account.WithWork(t.Context(), &account.Work{ID: work, At: 1700000000000})
		return w.Register(ctx, "u_1", "acme", applications.Registration{ID: "docs", Name: "docs", Namespaces: []string{"docs"}})
	}
	first, err := again()
	w.must(err)
	second, err := again()
	w.must(err)
	if diff := cmp.Diff(first, second); diff != "" || first.CreatedAt != 1700000000000 {
		t.Error(diff, first.CreatedAt)
	}
	if log := w.log(); len(log) != 1 {
		t.Errorf("the log has %v", log)
	}
}

func TestLimitsOfApplications(t *testing.T) {
	w := newWorld(t)
	many := make([]string, applications.MaxNamespaces+1)
	for i := range many {
		many[i] = fmt.Sprintf("n%d", i)
	}
	if _, err := w.Register(t.Context(), "u_1", "acme", applications.Registration{ID: "big", Name: "x", Namespaces: many}); codeOf(err) != "limit_reached" {
		t.Errorf("%d namespaces: %v", len(many), err)
	}
	w.register("big", many[1:]...)
	for i := range applications.MaxApplications - 1 {
		w.register(fmt.Sprintf("a%d", i), fmt.Sprintf("a%d", i))
	}
	if _, err := w.Register(t.Context(), "u_1", "acme", applications.Registration{ID: "last", Name: "x", Namespaces: []string{"last"}}); codeOf(err) != "limit_reached" {
		t.Errorf("the application after the last: %v", err)
	}
	list, _, err := w.List(t.Context(), "acme", applications.Query{})
	w.must(err)
	if len(list) != applications.MaxApplications || !slices.IsSortedFunc(list, func(a, b applications.Application) int { return int(a.CreatedAt - b.CreatedAt) }) {
		t.Errorf("%d applications are listed, or not by their creation", len(list))
	}
}

func TestDeletingLeavesNothingThatSpeaksForTheNextOwner(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.register("docs", "docs")
	w.register("mail", "mail")
	tx := w.store.Begin(ctx)
	for _, ns := range []string{"docs", "mail"} {
		account.Keys.Put(tx, "acme", "key-"+ns, account.StoredKey{APIKey: account.APIKey{ID: "key-" + ns, Kind: account.KeyPublisher, Namespace: ns, Etag: account.FirstEtag}}, 0)
		account.Grants.Put(tx, "acme", "g-"+ns, authz.Grant{ID: "g-" + ns, Subject: "user:u_2", Pattern: "cloud.*", Scope: cloud.App(ns)}, 0)
		account.Revokes.Put(tx, "acme", "r-"+ns, authz.Revoke{ID: "r-" + ns, UserID: "u_3", Pattern: "cloud.*", Scope: cloud.App(ns)}, 0)
	}
	w.must(tx.Commit())
	if err := w.Delete(ctx, "u_1", "acme", "docs", `"7"`); codeOf(err) != "precondition_failed" {
		t.Errorf("with the etag of another state: %v", err)
	}
	w.must(w.Delete(ctx, "u_1", "acme", "docs", account.FirstEtag))
	for _, ns := range []string{"docs", "mail"} {
		gone := ns == "docs"
		key, _, err := account.Keys.Get(ctx, w.store, "acme", "key-"+ns)
		w.must(err)
		_, grant, err := account.Grants.Get(ctx, w.store, "acme", "g-"+ns)
		w.must(err)
		_, revoke, err := account.Revokes.Get(ctx, w.store, "acme", "r-"+ns)
		w.must(err)
		_, owned, err := w.OwnerID(ctx, "acme", ns)
		w.must(err)
		if (key.Value.RevokedAt != nil) != gone || grant == gone || revoke == gone || owned == gone {
			t.Errorf("%s: key revoked %v, grant %v, revoke %v, namespace owned %v", ns, key.Value.RevokedAt != nil, grant, revoke, owned)
		}
	}
	if err := w.Delete(ctx, "u_1", "acme", "docs", ""); codeOf(err) != "application_not_found" {
		t.Errorf("deleting again: %v", err)
	}
	w.register("papers", "docs")
}

// reads counts what is asked of storage.
type reads struct {
	storage.Store
	n atomic.Int64
}

func (r *reads) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	r.n.Add(1)
	return r.Store.GetRecord(ctx, collection, id)
}

func (r *reads) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	r.n.Add(1)
	return r.Store.ListRecords(ctx, collection, f, p)
}

func TestAListOfApplicationsIsReadAtOnceAndPaged(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		w.register(fmt.Sprintf("app%d", i), fmt.Sprintf("ns%d", i), fmt.Sprintf("other%d", i))
	}
	records, err := w.driver.Open(t.Context(), account.Partition)
	w.must(err)
	counted := &reads{Store: records}
	e := applications.New(applications.Options{Store: account.New(counted, w.clock.Load), Keys: keys(t, 1), Relay: w.relay, Meters: w.meters})
	odd := func(id string) (bool, error) { return id[3]%2 == 1, nil }
	var ids []string
	for after, pages := "", 0; pages == 0 || after != ""; pages++ {
		page, next, err := e.List(t.Context(), "acme", applications.Query{May: odd, After: after, Limit: 2})
		w.must(err)
		for _, a := range page {
			if a.Health.Status != applications.Unverified || len(a.Registry) != 2 || a.Registry[0].Version != nil {
				t.Errorf("%+v", a)
			}
			ids = append(ids, a.ID)
		}
		after = next
	}
	if diff := cmp.Diff([]string{"app1", "app3", "app5", "app7", "app9"}, ids); diff != "" {
		t.Error(diff)
	}
	if n := counted.n.Load(); n > 15 { // entries, heads, health, moves and syncs of each page
		t.Errorf("three pages took %d reads", n)
	}
}
