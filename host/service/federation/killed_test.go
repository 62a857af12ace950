package federation_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// scene is a world in which one move is about to be made.
type scene struct {
	name  string
	make  func(t testing.TB) *world
	call  func(w *world, h *host) error
	app   string
	after []string // who writes the organization when the move is done
	undo  []string // when it was undone
}

var quick = federation.Times{Pause: 2 * time.Millisecond, Verify: 500 * time.Millisecond, Answer: 20 * time.Second}

func scenes() []scene {
	promote := func(app string) func(*world, *host) error {
		return func(w *world, h *host) error {
			_, err := h.moves.Federate(ctx, h.by(w.t, "olga"), app, federation.Input{Resolutions: w.settled})
			return err
		}
	}
	return []scene{
		{"promote", func(t testing.TB) *world {
			w := newWorld(t, "docs")
			fill(t, w.far["docs"].administered(t), "docs")
			return w
		}, promote("docs"), "docs", []string{"hosted"}, []string{"docs"}},
		{"merge", func(t testing.TB) *world {
			w := newWorld(t, "docs")
			fill(t, w.far["docs"].administered(t), "docs")
			_, err := w.federate("docs", federation.Input{})
			must(t, err)
			fill(t, w.link("mail"), "mail")
			w.settle(t, "mail")
			return w
		}, promote("mail"), "mail", []string{"hosted"}, []string{"hosted", "mail"}},
		{"demote", func(t testing.TB) *world {
			w := newWorld(t, "docs")
			fill(t, w.far["docs"].administered(t), "docs")
			_, err := w.federate("docs", federation.Input{})
			must(t, err)
			w.give(t, "user:zoe", "docs.admin.read")
			return w
		}, func(w *world, h *host) error {
			_, err := h.moves.Demote(ctx, h.by(w.t, "olga"), "docs", false)
			return err
		}, "docs", []string{"docs"}, []string{"hosted"}},
	}
}

// settle accepts whatever widens by a merge, which in these worlds is the administrator's
// own grant.
func (w *world) settle(t testing.TB, app string) {
	t.Helper()
	plan, err := w.federate(app, federation.Input{DryRun: true})
	must(t, err)
	w.settled = map[string]authz.Resolution{}
	for _, c := range plan.Conflicts {
		if c.Kind != authz.ConflictWidens {
			t.Fatalf("another conflict: %+v", c)
		}
		w.settled[c.ID] = authz.Resolution{Action: authz.ActionAccept}
	}
}

// give grants at * of the hosted root.
func (w *world) give(t testing.TB, subject, pattern string) {
	t.Helper()
	_, _, err := w.root.CreateGrant(ctx, w.by(t, "olga"), provider.GrantInput{Subject: subject, Pattern: pattern})
	must(t, err)
}

// fill puts an organization of every kind of row into an application.
func fill(t testing.TB, f *far, name string) {
	t.Helper()
	id := func(s string) *string { return new(name + "-" + s) }
	_, err := f.CreateGroup(ctx, provider.GroupInput{ID: id("all"), Name: name + " all"}, root)
	must(t, err)
	_, err = f.CreateGroup(ctx, provider.GroupInput{ID: id("staff"), Name: name + " staff", Parents: []string{*id("all")}}, root)
	must(t, err)
	_, err = f.CreateRole(ctx, provider.RoleInput{ID: id("reader"), Name: name + " reader", Patterns: []string{name + ".files.read"}}, root)
	must(t, err)
	must(t, f.SetGroupMembership(ctx, "ann", []string{*id("staff")}, root))
	must(t, f.SetReportingEdge(ctx, "ann", "bob", root))
	must(t, f.SetUserActive(ctx, "carl", false, root))
	_, err = f.CreateGrant(ctx, provider.GrantInput{Subject: "group:" + *id("all"), RoleID: *id("reader")}, root)
	must(t, err)
	f.give(t, "user:dora", name+".admin.read")
	_, err = f.CreateRevoke(ctx, provider.RevokeInput{UserID: "dora", Pattern: name + ".files.*"}, root)
	must(t, err)
	_, err = f.CreateGrant(ctx, provider.GrantInput{Subject: "user:ann", Pattern: name + ".files.read", Scope: name + ".doc:1"}, root)
	must(t, err)
}

// judge is what must hold whatever happened, as soon as nothing moves any more.
func (w *world) judge(t testing.TB, s scene, want provider.OrgSnapshot, done bool) {
	t.Helper()
	state := applications.Linked
	writers := s.undo
	if done {
		writers = s.after
	}
	if slices.Contains(writers, "hosted") && !slices.Contains(writers, s.app) {
		state = applications.Federated
	}
	if got := w.rootsNow(); !slices.Equal(got, writers) {
		t.Errorf("the writers are %v, not %v", got, writers)
	}
	if a := w.app(s.app); a.State != state || a.Operation != nil || w.org().Moving != "" {
		t.Errorf("%s is %s, operation %+v, moving %q", s.app, a.State, a.Operation, w.org().Moving)
	}
	if n := w.staged(); n != 0 {
		t.Errorf("%d pieces were left", n)
	}
	if !done {
		return
	}
	app, err := application.ReadOrg(ctx, w.far[s.app].store)
	must(t, err)
	if diff := cmp.Diff(sorted(want), sorted(app)); diff != "" {
		t.Errorf("the application's dataset (-want +got)\n%s", diff)
	}
	if slices.Contains(s.after, "hosted") {
		if diff := cmp.Diff(sorted(want), sorted(w.hosted())); diff != "" {
			t.Errorf("the hosted root's dataset (-want +got)\n%s", diff)
		}
	}
}

// sorted is a dataset for comparison.
func sorted(s provider.OrgSnapshot) string {
	s.Catalog = nil
	raw, err := authz.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// finish calls again until the move has ended: as somebody does who wants it done.
func (w *world) finish(t testing.TB, s scene, h *host) (done bool) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if err = s.call(w, h); err == nil {
			return true
		}
		if codeOf(err) == "invalid_transition" { // it was done all along
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("the move never ends: %v", err)
	return false
}

// wanted is the dataset that the move leads to, made in a world of its own.
func wanted(t testing.TB, s scene) (provider.OrgSnapshot, []string) {
	t.Helper()
	w := s.make(t)
	var points []string
	w.moves.At(func(point string) error {
		points = append(points, point)
		return nil
	})
	must(t, s.call(w, w.host))
	o, err := application.ReadOrg(ctx, w.far[s.app].store)
	must(t, err)
	return o, points
}

var errKilled = errors.New("the host dies")

// Whatever the host is about when it dies, another one finishes the move, and at no
// instant do two write the organization.
func TestAHostThatDiesAtAnyPointOfAMove(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			_, points := wanted(t, s)
			if len(points) < 10 {
				t.Fatalf("only %d points: %v", len(points), points)
			}
			for n, point := range points[:len(points)-1] { // at the last one it is over
				t.Run(fmt.Sprintf("%02d %s", n, point), func(t *testing.T) {
					w := s.make(t)
					first, seen := w.rootsNow(), 0
					w.moves.At(func(string) error {
						if seen++; seen > n {
							return errKilled
						}
						return nil
					})
					if err := s.call(w, w.host); err == nil {
						t.Fatal("it was not killed")
					}
					if got := w.rootsNow(); !one(s, got) {
						t.Fatalf("after the death the writers are %v, before they were %v", got, first)
					}
					if w.org().Moving != s.app {
						t.Errorf("the org says that %q moves", w.org().Moving)
					}
					if a := w.app(s.app); a.Operation == nil {
						t.Error("application.operation is absent")
					}
					other := w.newHost(quick)
					must(t, other.moves.CarryOn(ctx, "acme"))
					w.host = other
					w.judge(t, s, w.dataset(t, s), true)
				})
			}
		})
	}
}

// dataset is what the application holds: of the kinds of rows that are compared, nobody
// else changes any.
func (w *world) dataset(t testing.TB, s scene) provider.OrgSnapshot {
	t.Helper()
	o, err := application.ReadOrg(ctx, w.far[s.app].store)
	must(t, err)
	return o
}

// one tells that the organization has at most one writer. Before a merge there are two
// organizations, of which each has its own.
func one(s scene, writers []string) bool {
	if s.name == "merge" {
		return len(writers) <= 2 && !slices.Equal(writers, []string{"docs", "mail"})
	}
	return len(writers) <= 1
}

// The outcome of a move is as of one that nothing disturbed, whatever came in between.
func TestAMoveThatConflictsIsRepeatedOverWhatWasWritten(t *testing.T) {
	w := newWorld(t, "docs")
	docs := w.far["docs"].administered(t)
	wrote := 0
	w.moves.At(func(point string) error {
		if point == "before push" && wrote < 2 {
			wrote++
			docs.give(t, fmt.Sprintf("user:late-%d", wrote), "docs.admin.read")
		}
		return nil
	})
	_, err := w.federate("docs", federation.Input{})
	must(t, err)
	if grants := w.hosted().GlobalGrants; len(grants) != 3 {
		t.Errorf("acknowledged grants are lost: %v", grants)
	}

	w = newWorld(t, "docs")
	docs = w.far["docs"].administered(t)
	n := 0
	w.moves.At(func(point string) error {
		if point == "before push" {
			n++
			docs.give(t, fmt.Sprintf("user:late-%d", n), "docs.admin.read")
		}
		return nil
	})
	_, err = w.federate("docs", federation.Input{})
	wantCode(t, err, "org_changed")
	if got := w.rootsNow(); n != 3 || !slices.Equal(got, []string{"docs"}) || w.org().Mode != account.ModeLinked || w.org().Moving != "" {
		t.Errorf("after %d tries the writers are %v, the org %+v", n, got, w.org())
	}
}
