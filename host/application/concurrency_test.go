package application_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// race runs the functions at once and returns their errors.
func race(writers ...func() error) []error {
	errs := make([]error, len(writers))
	var start, done sync.WaitGroup
	start.Add(1)
	for i, w := range writers {
		done.Go(func() {
			start.Wait()
			errs[i] = w()
		})
	}
	start.Done()
	done.Wait()
	return errs
}

// wins checks that one racer won and the others were refused with the code.
func wins(t *testing.T, code authz.Code, errs []error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case authz.CodeOf(err) != code:
			t.Errorf("a loser got %v, want %s", err, code)
		}
	}
	if won != 1 {
		t.Errorf("%d racers won", won)
	}
}

func TestOfTwoWhoDeleteAGrantOneFindsItGone(t *testing.T) {
	for round := range 20 {
		store := openStore(t)
		seed(t, store)
		app := newApp(t, application.Options{Store: store})
		remove := func() error { return app.DeleteGrant(context.Background(), "g-doc", root) }
		wins(t, authz.CodeNotFound, race(remove, remove, remove))
		if entries := rows(t, store.ListAudit(t.Context(), storage.AuditFilter{})); len(entries) != 1 {
			t.Fatalf("round %d: %d audit entries, want the winner's", round, len(entries))
		}
	}
}

func TestTwoEdgesAcyclicAloneNeverCloseACycleTogether(t *testing.T) {
	for range 20 {
		store := openStore(t)
		one, two := newApp(t, application.Options{Store: store}), newApp(t, application.Options{Store: store})
		for _, id := range []string{"x", "y"} {
			must(t, createGroup(provider.GroupInput{ID: &id, Name: id})(t.Context(), one))
		}
		wins(t, authz.CodeGraphCycle, race(
			func() error { return setParents("x", "y")(context.Background(), one) },
			func() error { return setParents("y", "x")(context.Background(), two) }))
	}
}

func TestOfTwoWhoTakeAnIdOneGetsIt(t *testing.T) {
	for range 20 {
		store := openStore(t)
		one, two := newApp(t, application.Options{Store: store}), newApp(t, application.Options{Store: store})
		in := provider.RoleInput{ID: ptr("r"), Name: "r"}
		wins(t, authz.CodeConflict, race(
			func() error { return createRole(in)(context.Background(), one) },
			func() error { return createRole(in)(context.Background(), two) },
			func() error { return createRole(in)(context.Background(), one) }))
	}
}

func TestAGrantAndTheDeletionOfItsRoleNeverBothSucceed(t *testing.T) {
	for range 50 {
		store := openStore(t)
		app := newApp(t, application.Options{Store: store})
		must(t, createRole(provider.RoleInput{ID: ptr("r"), Name: "r"})(t.Context(), app))
		errs := race(
			func() error {
				return createGrant(provider.GrantInput{Subject: "everyone", RoleID: "r"})(context.Background(), app)
			},
			func() error { return app.DeleteRole(context.Background(), "r", root) })
		switch {
		case errs[0] == nil && authz.CodeOf(errs[1]) == authz.CodeConflict:
		case errs[1] == nil && authz.CodeOf(errs[0]) == authz.CodeNotFound:
		default:
			t.Fatalf("grant: %v, deletion: %v", errs[0], errs[1])
		}
	}
}

func TestListenersHearEventsInLogOrderHoweverManyWrite(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	var heard []authz.Event
	app.OnInvalidate(func(e authz.Event) { heard = append(heard, e) }) // one delivery at a time
	writers := make([]func() error, 40)
	for i := range writers {
		user := fmt.Sprintf("u%d", i)
		writers[i] = func() error {
			for n := range 5 {
				if n%2 == 0 {
					if err := app.SetUserActive(context.Background(), user, n == 0, root); err != nil {
						return err
					}
				} else if err := createGrant(provider.GrantInput{Subject: "user:" + user, Pattern: "docs.*"})(context.Background(), app); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, err := range race(writers...) {
		must(t, err)
	}
	page, err := app.EventLog().Since(t.Context(), authz.Position{}, provider.MaxEventLimit)
	must(t, err)
	if diff := cmp.Diff(page.Events, heard); diff != "" {
		t.Errorf("(-log +heard):\n%s", diff)
	}
}

// detained is a store that holds back the answer to the commit about the user
// "slow" until it is released, and says when the one about "fast" was answered.
type detained struct {
	*faulty
	slow, fast, release chan struct{}
}

func detain(store storage.Store) detained {
	d := detained{&faulty{Store: store}, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	d.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		result, err := store.Commit(ctx, c)
		if p, ok := first1(c.Changes).(storage.PatchUser); ok && p.UserID == "slow" {
			close(d.slow)
			<-d.release
		} else if ok {
			close(d.fast)
		}
		return result, err
	}
	return d
}

// start activates the user and returns when the commit has been answered.
func (d detained) start(ctx context.Context, app *application.Application, user string, answered chan struct{}) <-chan error {
	done := make(chan error, 1)
	go func() { done <- app.SetUserActive(ctx, user, true, root) }()
	<-answered
	return done
}

func TestAWriteWaitsForAnEarlierNumberThatIsStillUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := detain(openStore(t))
		app := newApp(t, application.Options{Store: d})
		var heard []string
		app.OnInvalidate(func(e authz.Event) { heard = append(heard, e.UserID) })
		slow := d.start(context.Background(), app, "slow", d.slow)
		fast := d.start(context.Background(), app, "fast", d.fast)
		synctest.Wait() // a write that does not wait has told by now
		close(d.release)
		must(t, <-slow)
		must(t, <-fast)
		if diff := cmp.Diff([]string{"slow", "fast"}, heard); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAWriteWhoseTimeIsOverTellsItsListenersOutOfTurn(t *testing.T) {
	d := detain(openStore(t))
	app := newApp(t, application.Options{Store: d})
	var heard []string
	app.OnInvalidate(func(e authz.Event) { heard = append(heard, e.UserID) })
	slow := d.start(context.Background(), app, "slow", d.slow)
	ctx, cancel := context.WithCancel(context.Background())
	fast := d.start(ctx, app, "fast", d.fast)
	cancel()
	must(t, <-fast)
	close(d.release)
	must(t, <-slow)
	if diff := cmp.Diff([]string{"fast", "slow"}, heard); diff != "" {
		t.Error(diff)
	}
}

func TestAListenerThatPanicsHarmsNobody(t *testing.T) {
	app := newApp(t, application.Options{})
	heard := 0
	app.OnInvalidate(func(authz.Event) { panic("listener") })
	unsubscribe := app.OnInvalidate(func(authz.Event) { heard++ })
	must(t, app.SetUserActive(t.Context(), "u", true, root))
	unsubscribe()
	unsubscribe()
	must(t, app.SetUserActive(t.Context(), "u", true, root))
	if heard != 1 {
		t.Errorf("the other listener heard %d events, want 1", heard)
	}
}

func TestIngestedEventsAreHeardAndNotStored(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	var heard []authz.Event
	app.OnInvalidate(func(e authz.Event) { heard = append(heard, e) })
	foreign := []authz.Event{authz.UserEvent("a"), {Type: authz.EventAll}, authz.SubjectEvent("group:g")}
	app.IngestEvents(foreign)
	if diff := cmp.Diff(foreign, heard); diff != "" {
		t.Error(diff)
	}
	head, err := app.EventLog().Head(t.Context())
	must(t, err)
	if head.Seq != 0 {
		t.Errorf("head %d, want 0", head.Seq)
	}
}

// Each of many who change one user's groups at once changes its own group alone.
func TestMembershipsThatAreChangedAtOnceAreAllKept(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	var writers []func() error
	var want []string
	for i := range 20 {
		id := fmt.Sprintf("g%02d", i)
		change := provider.MembershipChange{Add: []string{id}}
		_, err := app.CreateGroup(t.Context(), provider.GroupInput{ID: &id, Name: id}, root)
		must(t, err)
		if i%2 == 0 {
			must(t, app.ChangeGroupMembership(t.Context(), "u", change, root))
			change = provider.MembershipChange{Remove: []string{id}}
		} else {
			want = append(want, id)
		}
		writers = append(writers, func() error { return app.ChangeGroupMembership(context.Background(), "u", change, root) })
	}
	for _, err := range race(writers...) {
		must(t, err)
	}
	user, err := app.GetUser(t.Context(), "u")
	must(t, err)
	slices.Sort(user.GroupIDs)
	if diff := cmp.Diff(want, user.GroupIDs); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
