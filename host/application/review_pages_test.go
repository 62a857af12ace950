package application_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// everyPage reads pages to their end. Each must be small and go on behind the one before.
func everyPage[Row any](t *testing.T, after *string, limit int, read func() (rows []Row, next string, err error)) []Row {
	t.Helper()
	all, seen := []Row{}, map[string]bool{}
	for {
		page, next, err := read()
		must(t, err)
		size := 0
		for _, row := range page {
			text, err := json.Marshal(row)
			must(t, err)
			size += len(text)
		}
		if limit > 0 && len(page) > limit || len(page) > 1 && size > provider.MaxReviewBytes {
			t.Fatalf("a page of %d holds %d rows, %d bytes", limit, len(page), size)
		}
		all = append(all, page...)
		if next == "" {
			return all
		}
		if seen[next] {
			t.Fatalf("a page goes on where another one did: %s", next)
		}
		seen[next], *after = true, next
	}
}

func sodPages(t *testing.T, app *application.Application, q provider.ReviewQuery) []access.Violations {
	t.Helper()
	return everyPage(t, &q.After, q.Limit, func() ([]access.Violations, string, error) {
		page, err := app.ReviewSodViolations(t.Context(), q)
		return page.Users, page.Next, err
	})
}

func entitlementPages(t *testing.T, app *application.Application, q provider.ReviewQuery) []access.UserEntitlements {
	t.Helper()
	return everyPage(t, &q.After, q.Limit, func() ([]access.UserEntitlements, string, error) {
		page, err := app.ReviewEntitlements(t.Context(), q)
		return page.Users, page.Next, err
	})
}

// driftPages joins the findings of a role, as the whole report has them.
func driftPages(t *testing.T, app *application.Application, q provider.DriftQuery) []access.DriftFinding {
	t.Helper()
	all := []access.DriftFinding{}
	for _, f := range everyPage(t, &q.After, q.Limit, func() ([]access.DriftFinding, string, error) {
		page, err := app.ReviewWildcardDrift(t.Context(), q)
		return page.Findings, page.Next, err
	}) {
		same := slices.IndexFunc(all, func(known access.DriftFinding) bool {
			return f.Via.Role != nil && known.Via.Role != nil && known.Via.Role.ID == f.Via.Role.ID && known.Pattern == f.Pattern
		})
		if same < 0 {
			all = append(all, f)
			continue
		}
		all[same].Via.GrantIDs = slices.Concat(all[same].Via.GrantIDs, f.Via.GrantIDs)
	}
	return all
}

// older is a driver that knows nothing of lists of user ids.
type older struct{ storage.Store }

func (older) ListUserIDs(context.Context, string, storage.Page) iter.Seq2[string, error] {
	return storage.Unimplemented{}.ListUserIDs(context.Background(), "", storage.Page{})
}

// reviewedWorld has several pages of users of every kind: stored ones, those that grants
// name, and those that other rows name, who are no candidates.
func reviewedWorld(t *testing.T, users int) storage.Store {
	t.Helper()
	store := openStore(t)
	dutyRows(t, store)
	var changes []storage.Change
	grant := func(id, user, pattern string, expires authz.Expiry) {
		changes = append(changes, storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: "user:" + user, Pattern: pattern, Scope: "*", ExpiresAt: expires, Provenance: root}})
	}
	for i := range users {
		id := fmt.Sprintf("w%04d", i)
		switch i % 7 {
		case 0:
			grant("a"+id, id, "app.pay.*", authz.Expiry{})
		case 1:
			grant("a"+id, id, "app.pay.create", authz.Expiry{})
			grant("b"+id, id, "app.pay.approve", authz.ExpiresAt(now-1))
		case 2:
			changes = append(changes, storage.UpsertUser{User: authz.User{UserID: id, Active: i%2 == 0, GroupIDs: []string{"creators"}, ManagerUserID: "m" + id}})
			grant("a"+id, id, "app.pay.approve", authz.Expiry{})
		case 3:
			changes = append(changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: "v" + id, UserID: id, Pattern: "app.*", Scope: "*", Provenance: root}})
		case 4:
			grant("a"+id, id, "app.pay.*", authz.ExpiresAt(now-1))
		case 5:
			changes = append(changes, storage.UpsertUser{User: authz.User{UserID: id, Active: true}})
		case 6:
			grant("a"+id, id, "*", authz.Expiry{})
			changes = append(changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: "v" + id, UserID: id, Pattern: "app.pay.*", Scope: "*", Provenance: root}})
		}
	}
	_, err := store.Commit(t.Context(), storage.Commit{ID: "reviewed", At: now, Changes: changes})
	must(t, err)
	return store
}

func TestReportsInPagesAreTheWholeReports(t *testing.T) {
	store := reviewedWorld(t, 700)
	for name, s := range map[string]storage.Store{"lookups": store, "no lookups": lacking.Store(store, storage.CapLookups), "an older driver": older{store}} {
		app := dutiesApp(t, s, application.SoDOff)
		violators, everybody := rows(t, app.ListSodViolations(t.Context(), nil)), rows(t, app.ExportEntitlements(t.Context(), nil))
		if len(violators) < 200 || len(everybody) < 600 || len(everybody) > 620 {
			t.Fatalf("%s: %d violators of %d users", name, len(violators), len(everybody))
		}
		for _, limit := range []int{0, 1, 7, 1000} {
			if limit == 1 && name != "lookups" {
				continue // every page of these reads every row
			}
			if diff := cmp.Diff(violators, sodPages(t, app, provider.ReviewQuery{Limit: limit})); diff != "" {
				t.Errorf("%s: violators in pages of %d (-whole +pages):\n%s", name, limit, diff)
			}
			if diff := cmp.Diff(everybody, entitlementPages(t, app, provider.ReviewQuery{Limit: limit}), unexported); diff != "" {
				t.Errorf("%s: entitlements in pages of %d (-whole +pages):\n%s", name, limit, diff)
			}
		}
	}
}

func TestAPageLooksAtABoundedNumberOfUsersOfWhomNoReportIs(t *testing.T) {
	store := openStore(t)
	var changes []storage.Change
	for i := range 1000 {
		changes = append(changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: fmt.Sprint(i), UserID: fmt.Sprintf("u%04d", i), Pattern: "docs.*", Scope: "*", Provenance: root}})
	}
	_, err := store.Commit(t.Context(), storage.Commit{ID: "revoked", At: now, Changes: changes})
	must(t, err)
	reads := 0
	app := newApp(t, application.Options{Store: &faulty{Store: store, readAccess: func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
		reads++
		return store.ReadAccess(ctx, q)
	}}})
	for limit, last := range map[int]int{10: 9, 0: 199, 1000: 199} {
		reads = 0
		page, err := app.ReviewEntitlements(t.Context(), provider.ReviewQuery{Limit: limit})
		if must(t, err); len(page.Users) != 0 || page.Next != fmt.Sprintf("u%04d", last) || reads > last+2 {
			t.Errorf("a page of %d: %d users after %d reads, then %q", limit, len(page.Users), reads, page.Next)
		}
	}
}

func TestAPageOfLargeRowsEndsEarlyAndAlwaysTellsOne(t *testing.T) {
	store := openStore(t)
	var changes []storage.Change
	for i := range 12 {
		n := 300
		if i == 5 {
			n = 3000 // more than a page by itself
		}
		for g := range n {
			changes = append(changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("g%02d.%04d", i, g), Subject: fmt.Sprintf("user:u%02d", i), Pattern: "docs.admin.read",
				Scope: "*", ExpiresAt: authz.ExpiresAt(now + 1 + int64(g)), Provenance: root}})
		}
	}
	_, err := store.Commit(t.Context(), storage.Commit{ID: "large", At: now, Changes: changes})
	must(t, err)
	app := newApp(t, application.Options{Store: store})
	whole := rows(t, app.ExportEntitlements(t.Context(), nil))
	if diff := cmp.Diff(whole, entitlementPages(t, app, provider.ReviewQuery{}), unexported); diff != "" {
		t.Error(diff)
	}
	page, err := app.ReviewEntitlements(t.Context(), provider.ReviewQuery{After: "u04"})
	if must(t, err); len(page.Users) != 1 || page.Next != "u05" {
		t.Errorf("the large one stands with %d users, then %q", len(page.Users), page.Next)
	}
}

func TestPagesOfReportsRefuseWhatTheyCannotGoOnFrom(t *testing.T) {
	store := openStore(t)
	dutyRows(t, store)
	app := dutiesApp(t, store, application.SoDOff)
	publishKeys(t, app, "app.pay.create")
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for want, q := range map[string]provider.ReviewQuery{
		"limit must be at least 1":                         {Limit: -1},
		`userIds names "u" twice`:                          {UserIDs: &[]string{"u", "u"}},
		"userIds names at most 1000 users, this one 1001":  {UserIDs: &many},
		"userIds must be a non-empty string":               {UserIDs: &[]string{""}},
		"after must be the next of a page of this very li": {UserIDs: &[]string{"u"}, After: "v"},
		"after must not contain U+0000":                    {After: "a\x00"},
	} {
		_, sodErr := app.ReviewSodViolations(t.Context(), q)
		_, exportErr := app.ReviewEntitlements(t.Context(), q)
		for _, err := range []error{sodErr, exportErr} {
			if authz.CodeOf(err) != authz.CodeValidation || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("want %q: %v", want, err)
			}
		}
	}
	for want, q := range map[string]provider.DriftQuery{
		"limit must be at least 1":                         {SinceVersion: 1, Limit: -1},
		"after must be the next of a page of this very li": {SinceVersion: 1, After: "x"},
		"after must be the next of a page of this ver":     {SinceVersion: 1, After: "eyJzIjoyLCJ0IjoxfQ"}, // of version 2
		"catalog version 2 is not retained":                {SinceVersion: 2},
	} {
		if _, err := app.ReviewWildcardDrift(t.Context(), q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// wildcardWorld has wildcards in grants among many that have none, and roles that more
// grants name than a finding tells.
func wildcardWorld(t *testing.T) (storage.Store, *application.Application) {
	t.Helper()
	store := openStore(t)
	changes := []storage.Change{
		storage.UpsertRole{Role: authz.Role{ID: "many", Name: "M", Patterns: []string{"app.pay.*", "app.pay.create", "*"}}},
		storage.UpsertRole{Role: authz.Role{ID: "none", Name: "N", Patterns: []string{"*"}}},
		storage.UpsertRole{Role: authz.Role{ID: "plain", Name: "P", Patterns: []string{"app.pay.create"}}},
		storage.UpsertRole{Role: authz.Role{ID: "some", Name: "S", Patterns: []string{"app.*"}}},
	}
	grant := func(g authz.Grant) {
		g.Scope, g.Provenance = "*", root
		changes = append(changes, storage.InsertGrant{Grant: g})
	}
	for i := range 1000 {
		g := authz.Grant{ID: fmt.Sprintf("g%04d", i), Subject: fmt.Sprintf("user:u%d", i)}
		switch {
		case i%2 == 0:
			g.RoleID = "many"
		case i%9 == 0:
			g.Pattern = "app.*"
		case i%5 == 0:
			g.RoleID = "some"
		default:
			g.Pattern = "app.pay.create"
		}
		if i%11 == 0 {
			g.ExpiresAt = authz.ExpiresAt(now)
		}
		grant(g)
	}
	_, err := store.Commit(t.Context(), storage.Commit{ID: "wildcards", At: now, Changes: changes})
	must(t, err)
	app := dutiesApp(t, store, application.SoDOff)
	publishKeys(t, app, "app.pay.create")
	publishKeys(t, app, "app.pay.create", "app.pay.approve", "app.lock.open")
	return store, app
}

func TestDriftInPagesIsTheWholeReport(t *testing.T) {
	_, app := wildcardWorld(t)
	report, err := app.ListWildcardDrift(t.Context(), 1)
	must(t, err)
	whole := rows(t, report.Findings)
	if len(whole) < 50 {
		t.Fatalf("%d findings", len(whole))
	}
	for _, limit := range []int{0, 1, 2, 7} {
		if diff := cmp.Diff(whole, driftPages(t, app, provider.DriftQuery{SinceVersion: 1, Limit: limit}), unexported); diff != "" {
			t.Errorf("in pages of %d (-whole +pages):\n%s", limit, diff)
		}
	}
	q := provider.DriftQuery{SinceVersion: 1, Limit: 3}
	first, err := app.ReviewWildcardDrift(t.Context(), q)
	must(t, err)
	publishKeys(t, app, "app.pay.create") // what was gained is gone again
	q.After = first.Next
	second, err := app.ReviewWildcardDrift(t.Context(), q)
	if must(t, err); second.ToVersion != first.ToVersion || len(second.Findings) != 3 || !slices.Equal(second.GainedKeys, first.GainedKeys) {
		t.Errorf("a report that was begun goes on with %+v", second)
	}
}

func TestAPageOfDriftLooksAtABoundedNumberOfGrants(t *testing.T) {
	store, app := wildcardWorld(t)
	changes := make([]storage.Change, 0, 25_000)
	for i := range cap(changes) {
		changes = append(changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("f%05d", i), Subject: "everyone", Pattern: "app.pay.create", Scope: "*", Provenance: root}})
	}
	_, err := store.Commit(t.Context(), storage.Commit{ID: "concrete", At: now, Changes: changes})
	must(t, err)
	page, err := app.ReviewWildcardDrift(t.Context(), provider.DriftQuery{SinceVersion: 1})
	if must(t, err); len(page.Findings) != 0 || page.Next == "" {
		t.Errorf("a page of grants without wildcards: %d findings, then %q", len(page.Findings), page.Next)
	}
	report, err := app.ListWildcardDrift(t.Context(), 1)
	must(t, err)
	if diff := cmp.Diff(rows(t, report.Findings), driftPages(t, app, provider.DriftQuery{SinceVersion: 1}), unexported); diff != "" {
		t.Errorf("(-whole +pages):\n%s", diff)
	}
}

// chainParts verifies part after part.
func chainParts(t *testing.T, app *application.Application, limit int) (hashed, unhashed int, last provider.AuditChainPart) {
	t.Helper()
	q := provider.AuditChainQuery{Limit: limit}
	for {
		part, err := app.ReviewAuditChain(t.Context(), q)
		must(t, err)
		if hashed, unhashed = hashed+part.Hashed, unhashed+part.Unhashed; !part.OK || !part.More {
			return hashed, unhashed, part
		}
		if part.Hashed+part.Unhashed != limit {
			t.Fatalf("a part of %d: %+v", limit, part)
		}
		q.After = &part.Last
	}
}

func TestAChainIsVerifiedPartByPart(t *testing.T) {
	store := openStore(t)
	write := func(app *application.Application, n int) {
		for i := range n {
			_, err := app.CreateRole(t.Context(), provider.RoleInput{Name: fmt.Sprint(i), Patterns: []string{"docs.files.read"}}, root)
			must(t, err)
		}
	}
	ids := ascending()
	write(newApp(t, application.Options{Store: store, IDs: ids}), 3) // before the chain
	app := newApp(t, application.Options{Store: store, HashChain: true, IDs: ids})
	write(app, 8)
	log := rows(t, store.ListAudit(t.Context(), storage.AuditFilter{}))
	placeOf := func(e authz.AuditEntry) provider.AuditPlace {
		return provider.AuditPlace{AuditCursor: e.Cursor(), Hash: e.Hash}
	}
	for _, limit := range []int{1, 2, 3, 5, 11, 12} {
		hashed, unhashed, end := chainParts(t, app, limit)
		if hashed != 8 || unhashed != 3 || !end.OK || end.Last != placeOf(log[10]) {
			t.Errorf("in parts of %d: %d and %d, %+v", limit, hashed, unhashed, end)
		}
		for at := range log {
			changed := newApp(t, application.Options{Store: &doctored{Store: store, at: log[at].ID}})
			whole, err := changed.VerifyAuditChain(t.Context(), "")
			must(t, err)
			hashed, unhashed, end := chainParts(t, changed, limit)
			if whole.OK != end.OK || whole.Reason != end.Reason || !whole.OK && (hashed+unhashed != whole.Index || end.Broken != log[at].Cursor() || end.More) {
				t.Errorf("in parts of %d, entry %d changed: %d and %d, %+v; the whole is %+v", limit, at, hashed, unhashed, end, whole)
			}
		}
	}
	for at, e := range log {
		part, err := app.ReviewAuditChain(t.Context(), provider.AuditChainQuery{After: new(placeOf(e))})
		if must(t, err); !part.OK || part.Hashed != min(8, 10-at) || part.Last != placeOf(log[10]) {
			t.Errorf("after entry %d: %+v", at, part)
		}
	}
	for name, place := range map[string]provider.AuditPlace{
		"an entry that is not there": {AuditCursor: authz.AuditCursor{At: log[5].At, ID: log[5].ID + "x"}, Hash: log[5].Hash},
		"another hash":               {AuditCursor: log[5].Cursor(), Hash: log[6].Hash},
		"no hash":                    {AuditCursor: log[5].Cursor()},
		"past the end":               {AuditCursor: authz.AuditCursor{At: log[10].At + 1, ID: "z"}, Hash: log[10].Hash},
	} {
		if part, err := app.ReviewAuditChain(t.Context(), provider.AuditChainQuery{After: &place}); authz.CodeOf(err) != authz.CodeNotFound {
			t.Errorf("%s: %+v, %v", name, part, err)
		}
	}
	cut := newApp(t, application.Options{Store: without{store, log[6].ID}})
	if _, _, end := chainParts(t, cut, 2); end.OK || end.Reason != authz.HashChainBroken || end.Broken != log[7].Cursor() {
		t.Errorf("an entry that is gone: %+v", end)
	}
	empty, err := newApp(t, application.Options{}).ReviewAuditChain(t.Context(), provider.AuditChainQuery{})
	if must(t, err); !empty.OK || empty != (provider.AuditChainPart{OK: true}) {
		t.Errorf("an empty log: %+v", empty)
	}
}

// without is a store that lost an audit entry.
type without struct {
	storage.Store
	id string
}

func (s without) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range s.Store.ListAudit(ctx, f) {
			if e.ID != s.id && !yield(e, err) {
				return
			}
		}
	}
}
