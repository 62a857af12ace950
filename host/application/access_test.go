package application_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func withoutExpand(s storage.Store) storage.Store {
	return lacking.Store(s, storage.CapExpand)
}

// drawWorld fills a store with rows that no write path would let through:
// cycles among groups and managers, dangling roles, groups without a record.
func drawWorld(t *rapid.T) []storage.Change {
	some := func(kind, label string) []string {
		return rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 5), func(i int) string { return fmt.Sprintf("%s%d", kind, i) }), 0, 3, rapid.ID).Draw(t, label)
	}
	one := func(kind, label string) string { return fmt.Sprintf("%s%d", kind, rapid.IntRange(0, 5).Draw(t, label)) }
	var changes []storage.Change
	for i := range 5 {
		changes = append(changes, storage.UpsertGroup{Group: authz.Group{ID: fmt.Sprintf("g%d", i), Parents: some("g", "parents")}})
	}
	for i := range 5 {
		u := authz.User{UserID: fmt.Sprintf("u%d", i), Active: rapid.Bool().Draw(t, "active"), GroupIDs: some("g", "groups"), OrgIDs: some("o", "orgs")}
		if rapid.Bool().Draw(t, "managed") {
			u.ManagerUserID = one("u", "manager")
		}
		changes = append(changes, storage.UpsertUser{User: u})
	}
	changes = append(changes, storage.UpsertRole{Role: authz.Role{ID: "r0"}}, storage.UpsertRole{Role: authz.Role{ID: "r1"}})
	for i := range rapid.IntRange(0, 20).Draw(t, "grants") {
		kind := rapid.SampledFrom([]authz.SubjectKind{"user", "group", "org", "service", "directs", "orgof", "everyone"}).Draw(t, "kind")
		id := map[authz.SubjectKind]string{"group": "g", "org": "o"}[kind]
		if id == "" {
			id = "u"
		}
		g := authz.Grant{ID: fmt.Sprintf("x%02d", i), Subject: authz.SubjectOf(kind, one(id, "holder")), Scope: "*"}
		if rapid.Bool().Draw(t, "by role") {
			g.RoleID = one("r", "role")
		} else {
			g.Pattern = "docs.*"
		}
		if rapid.Bool().Draw(t, "dated") {
			g.ExpiresAt = authz.ExpiresAt(now + int64(rapid.IntRange(-1, 1).Draw(t, "expiry")))
		}
		changes = append(changes, storage.InsertGrant{Grant: g})
	}
	return append(changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: "v", UserID: one("u", "revoked"), Pattern: "docs.*", Scope: "*"}})
}

func TestTheHostFollowsEdgesAsADriverDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := openStore(t)
		_, err := store.Commit(context.Background(), storage.Commit{ID: "world", At: now, Changes: drawWorld(rt)})
		must(t, err)
		expanding := newApp(t, application.Options{Store: store})
		following := newApp(t, application.Options{Store: withoutExpand(store)})
		uncached := newApp(t, application.Options{Store: withoutExpand(store), GroupTopologyTTL: -1})
		for range 2 { // cold, then over the kept map
			for _, p := range []authz.Principal{authz.UserPrincipal("u0"), authz.UserPrincipal("u1"), authz.UserPrincipal("u5"), authz.ServicePrincipal("u0")} {
				want, err := expanding.GetSubjectAccess(context.Background(), p)
				must(t, err)
				for name, app := range map[string]*application.Application{"following": following, "uncached": uncached} {
					got, err := app.GetSubjectAccess(context.Background(), p)
					must(t, err)
					if diff := cmp.Diff(asWire(t, want), asWire(t, got)); diff != "" {
						rt.Fatalf("%s, %s (-expanding):\n%s", name, p, diff)
					}
				}
			}
			if rapid.Bool().Draw(rt, "regroup") { // through another application: only the head tells
				must(t, expanding.SetGroupMembership(context.Background(), "u0", []string{"g0"}, root))
				_, err := expanding.SetGroupParents(context.Background(), "g1", nil, root)
				if err != nil && authz.CodeOf(err) != authz.CodeGraphCycle {
					t.Fatal(err)
				}
			}
		}
	})
}

func asWire(t testing.TB, a authz.SubjectAccess) string {
	t.Helper()
	raw, err := a.MarshalJSON()
	must(t, err)
	return string(raw)
}

func TestASupplyIsAsTheTableSays(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store})
	must(t, app.SetReportingEdge(t.Context(), "member", "boss", root))
	must(t, app.SetReportingEdge(t.Context(), "boss", "ceo", root))
	must(t, app.SetUserActive(t.Context(), "member", false, root))
	got, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("member"))
	must(t, err)
	want := []string{"user:member", "group:b", "group:c", "group:a", "directs:boss", "orgof:boss", "orgof:ceo", "everyone"}
	if diff := cmp.Diff(want, got.Closure); diff != "" {
		t.Errorf("closure:\n%s", diff)
	}
	if got.Active || len(got.Grants) != 1 || got.Grants[0].ID != "g-global" || !slices.Equal(got.ManagerChain, []string{"boss", "ceo"}) {
		t.Errorf("got %+v", got)
	}
	unknown, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("ghost"))
	must(t, err)
	if !unknown.Active || *unknown.UserID != "ghost" || !slices.Equal(unknown.Closure, []string{"user:ghost", "everyone"}) {
		t.Errorf("an unknown user got %+v", unknown)
	}
	service, err := app.GetSubjectAccess(t.Context(), authz.ServicePrincipal("u"))
	must(t, err)
	if service.UserID != nil || len(service.Revokes) != 0 || !slices.Equal(service.Closure, []string{"service:u", "everyone"}) {
		t.Errorf("a service got %+v", service)
	}
}

// moving is a store without expand in which a write lands between two reads of
// one supply, n times.
func moving(t *testing.T, store storage.Store, n int, write func(i int)) storage.Store {
	f := &faulty{Store: withoutExpand(store)}
	writing := false
	f.readAccess = func(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
		read, err := f.Store.ReadAccess(ctx, q)
		if n > 0 && !writing {
			n--
			writing = true
			write(n)
			writing = false
		}
		return read, err
	}
	return f
}

func TestAClosureIsNeverAMixtureOfTwoStates(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	other := newApp(t, application.Options{Store: store})
	write := func(i int) {
		must(t, other.SetGroupMembership(context.Background(), "member", []string{[]string{"a", "b"}[i%2]}, root))
	}
	app := newApp(t, application.Options{Store: moving(t, store, 2, write)})
	got, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("member"))
	must(t, err)
	if diff := cmp.Diff([]string{"user:member", "group:a", "everyone"}, got.Closure); diff != "" {
		t.Error(diff)
	}
	app = newApp(t, application.Options{Store: moving(t, store, 1<<30, write)})
	_, err = app.GetSubjectAccess(t.Context(), authz.UserPrincipal("member"))
	isUnavailable("")(t, err)
}

func TestTheTopologyIsReadAgainOnlyWhenItMayHaveChanged(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	clock := now
	counting := &faulty{Store: withoutExpand(store)}
	app := newApp(t, application.Options{Store: counting, Clock: func() int64 { return clock }, GroupTopologyTTL: time.Second})
	other := newApp(t, application.Options{Store: store})
	supply := func(reads int64, why string) {
		t.Helper()
		before := counting.groupReads.Load()
		_, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("member"))
		must(t, err)
		if got := counting.groupReads.Load() - before; got != reads {
			t.Errorf("%s: %d reads of all groups, want %d", why, got, reads)
		}
	}
	supply(1, "cold")
	supply(0, "warm")
	app.IngestEvents([]authz.Event{authz.UserEvent("member"), authz.SubjectEvent("user:member"), authz.RoleEvent("r")})
	supply(0, "after events that name no group")
	app.IngestEvents([]authz.Event{authz.SubjectEvent("group:x")})
	supply(1, "after an event about a group")
	app.IngestEvents([]authz.Event{{Type: authz.EventAll}})
	supply(1, "after all")
	must(t, other.SetUserActive(t.Context(), "somebody", true, root))
	supply(1, "after the head moved elsewhere")
	clock += 1000
	supply(1, "after its time")
	clock--
	supply(1, "after the clock stepped back")
}

func TestConcurrentMissesShareOneReadOfTheTopology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t)
		seed(t, store)
		arrived, release := make(chan struct{}), make(chan struct{})
		f := &faulty{Store: withoutExpand(store)}
		f.listGroups = func() {
			close(arrived) // a second read would panic
			<-release
		}
		app := newApp(t, application.Options{Store: f})
		ask := func() error {
			_, err := app.GetSubjectAccess(context.Background(), authz.UserPrincipal("member"))
			return err
		}
		done := make(chan error, 3)
		go func() { done <- ask() }()
		<-arrived
		go func() { done <- ask() }()
		go func() { done <- ask() }()
		synctest.Wait() // all have asked
		close(release)
		for range 3 {
			must(t, <-done)
		}
	})
}

func TestAReaderWhoGivesUpDoesNotFailThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t)
		seed(t, store)
		arrived, reads := make(chan struct{}), 0
		ctx, cancel := context.WithCancel(context.Background())
		f := &faulty{Store: withoutExpand(store)}
		f.listGroups = func() {
			if reads++; reads == 1 {
				close(arrived)
				<-ctx.Done()
			}
		}
		app := newApp(t, application.Options{Store: f})
		gaveUp, waited := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := app.GetSubjectAccess(ctx, authz.UserPrincipal("member"))
			gaveUp <- err
		}()
		<-arrived
		go func() {
			_, err := app.GetSubjectAccess(context.Background(), authz.UserPrincipal("member"))
			waited <- err
		}()
		synctest.Wait() // it waits
		cancel()
		must(t, <-waited)
		if err := <-gaveUp; err != nil {
			isUnavailable("")(t, err)
		}
	})
}

func TestAReadOverlappedByADropIsUsedAndNotKept(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	f := &faulty{Store: withoutExpand(store)}
	app := newApp(t, application.Options{Store: f})
	f.listGroups = func() { app.IngestEvents([]authz.Event{authz.SubjectEvent("group:a")}) }
	for range 2 {
		_, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("member"))
		must(t, err)
	}
	if got := f.groupReads.Load(); got != 2 {
		t.Errorf("%d reads, want each supply's own", got)
	}
}

func TestWithoutAnEventLogTheTopologyIsDroppedByLocalWrites(t *testing.T) {
	store := lacking.Store(openStore(t), storage.CapExpand, storage.CapEvents)
	app := newApp(t, application.Options{Store: store})
	if app.EventLog() != nil || app.HasEventLog() {
		t.Error("an event log without a store that keeps one")
	}
	must(t, createGroup(provider.GroupInput{ID: ptr("g")})(t.Context(), app))
	must(t, createGroup(provider.GroupInput{ID: ptr("p")})(t.Context(), app))
	must(t, app.SetGroupMembership(t.Context(), "u", []string{"g"}, root))
	for _, parents := range [][]string{nil, {"p"}} {
		must(t, setParents("g", parents...)(t.Context(), app))
		got, err := app.GetSubjectAccess(t.Context(), authz.UserPrincipal("u"))
		must(t, err)
		if slices.Contains(got.Closure, "group:p") != (len(parents) > 0) {
			t.Errorf("parents %v: closure %v", parents, got.Closure)
		}
	}
	var refused *authz.WriteRejectedError
	if err := app.NotifyScopeMoved(t.Context(), "docs.doc:1"); errors.As(err, &refused) {
		t.Errorf("a move needs no log: %v", err)
	}
}
