package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// twoHosts are two hosts, each with a plugin process of its own, over one
// database.
type twoHosts struct {
	hosts []*host.Host
	apps  []*provider.Hosted
}

func openTwoHosts(t *testing.T) *twoHosts {
	t.Helper()
	dsn := postgrestest.Database(t)
	buildPlugin(t, "postgres")
	two := &twoHosts{}
	for range 2 {
		cfg := configure(t, "")
		edit(cfg, func(p *config.Plugin) {
			p.Plugin, p.Config = "postgres", config.NewSettings(map[string]any{"dsn": dsn})
		})
		h, _ := open(t, cfg)
		app, err := provider.NewHosted(provider.HostedOptions{URL: "http://" + h.Address(), Secret: testSecret})
		if err != nil {
			t.Fatal(err)
		}
		two.hosts, two.apps = append(two.hosts, h), append(two.apps, app)
	}
	return two
}

// race runs n writers at once, by turns at either host, and answers their errors.
func (two *twoHosts) race(n int, write func(ctx context.Context, i int, on *provider.Hosted) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = insist(func() error { return write(context.Background(), i, two.apps[i%len(two.apps)]) })
		})
	}
	close(start)
	all.Wait()
	return errs
}

// refused checks that exactly n writers were refused, all with the code.
func refused(t *testing.T, n int, code authz.Code, errs []error) {
	t.Helper()
	got := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case authz.CodeOf(err) != code:
			t.Errorf("a writer got %v, want %s", err, code)
		default:
			got++
		}
	}
	if got != n {
		t.Errorf("%d of %d writers were refused, want %d", got, len(errs), n)
	}
}

var admin = authz.AdminProvenance("root")

func TestTwoHostsOverOneDatabase(t *testing.T) {
	two := openTwoHosts(t)
	t.Run("edges that would close a ring together never do", two.ringsStayOpen)
	t.Run("a request is decided once", two.requestsAreDecidedOnce)
	t.Run("published versions never repeat", two.versionsNeverRepeat)
}

// ringsStayOpen: any edges of a ring but one are acyclic, so exactly one writer
// must be refused, however the writes of both hosts interleave.
func (two *twoHosts) ringsStayOpen(t *testing.T) {
	const size, rounds = 6, 5
	ctx := t.Context()
	for round := range rounds {
		node := func(i int) string { return fmt.Sprintf("r%d-%d", round, i%size) }
		for i := range size {
			id := node(i)
			if _, err := two.apps[0].CreateGroup(ctx, provider.GroupInput{ID: &id, Name: id}, admin); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, 1, authz.CodeGraphCycle, two.race(size, func(ctx context.Context, i int, on *provider.Hosted) error {
			_, err := on.SetGroupParents(ctx, node(i), []string{node(i + 1)}, admin)
			return err
		}))
		refused(t, 1, authz.CodeGraphCycle, two.race(size, func(ctx context.Context, i int, on *provider.Hosted) error {
			return on.SetReportingEdge(ctx, node(i), node(i+1), admin)
		}))
	}
	for _, app := range two.apps {
		edges, groups := 0, 0
		for g, err := range app.ListGroups(ctx, provider.Paging{}) {
			if err != nil {
				t.Fatal(err)
			}
			groups++
			edges += len(g.Parents)
		}
		reporting, err := app.GetReportingEdges(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if want := rounds * (size - 1); edges != want || len(reporting) != want || groups != rounds*size {
			t.Errorf("%d groups with %d edges and %d reporting edges, want %d each", groups, edges, len(reporting), want)
		}
	}
}

func (two *twoHosts) requestsAreDecidedOnce(t *testing.T) {
	const deciders, rounds = 8, 5
	ctx := t.Context()
	role, layers := "jit", int64(1)
	_, err := two.apps[0].CreateRole(ctx, provider.RoleInput{ID: &role, Name: "JIT", Patterns: []string{"docs.files.read"},
		Requestable: &authz.Requestable{Stages: []authz.Stage{{Kind: authz.StageManagement, Layers: &layers}}}}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.apps[1].SetReportingEdge(ctx, "rex", "mia", admin); err != nil {
		t.Fatal(err)
	}
	for range rounds {
		asked, err := two.apps[0].SubmitRequest(ctx, provider.RequestInput{RequesterUserID: "rex", RoleID: role})
		if err != nil {
			t.Fatal(err)
		}
		decided := make([]authz.Request, deciders)
		errs := two.race(deciders, func(ctx context.Context, i int, on *provider.Hosted) (err error) {
			switch i / 2 % 3 {
			case 0:
				decided[i], err = on.DecideRequest(ctx, asked.ID, provider.DecisionInput{DeciderUserID: "mia", Decision: authz.DecisionApproved})
			case 1:
				decided[i], err = on.DecideRequest(ctx, asked.ID, provider.DecisionInput{DeciderUserID: "mia", Decision: authz.DecisionDenied})
			default:
				decided[i], err = on.CancelRequest(ctx, asked.ID, "rex")
			}
			return err
		})
		refused(t, deciders-1, authz.CodeConflict, errs)
		won := decided[max(0, slices.Index(errs, nil))]
		for _, app := range two.apps {
			stored := find(t, app, asked.ID)
			if diff := cmp.Diff(won, stored, cmp.AllowUnexported(authz.Expiry{})); diff != "" {
				t.Errorf("the winner was told otherwise than is stored (-told +stored):\n%s", diff)
			}
			if grants := grantsOf(t, app, asked.ID); (stored.State == authz.RequestApproved) != (grants == 1) || grants > 1 {
				t.Errorf("a request that is %s has %d grants", stored.State, grants)
			}
		}
	}
}

func find(t *testing.T, app *provider.Hosted, id string) authz.Request {
	t.Helper()
	for q, err := range app.ListRequests(t.Context(), provider.RequestQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if q.ID == id {
			return q
		}
	}
	t.Fatalf("the request %s is gone", id)
	return authz.Request{}
}

func grantsOf(t *testing.T, app *provider.Hosted, requestID string) (n int) {
	t.Helper()
	for g, err := range app.ListGrants(t.Context(), provider.GrantQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if g.Provenance.RequestID == requestID {
			n++
		}
	}
	return n
}

func (two *twoHosts) versionsNeverRepeat(t *testing.T) {
	const publishers = 12
	document := json.RawMessage(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}`)
	manifest := json.RawMessage(`{"formatVersion":1,"namespace":"docs","imports":[]}`)
	want := make([]int64, publishers)
	for i := range want {
		want[i] = int64(i + 1)
	}
	for what, publish := range map[string]func(context.Context, *provider.Hosted) (int64, error){
		"catalog": func(ctx context.Context, on *provider.Hosted) (int64, error) {
			return on.PublishCatalog(ctx, document, admin)
		},
		"imports": func(ctx context.Context, on *provider.Hosted) (int64, error) {
			return on.PublishImports(ctx, manifest, admin)
		},
	} {
		versions := make([]int64, publishers)
		for _, err := range two.race(publishers, func(ctx context.Context, i int, on *provider.Hosted) (err error) {
			versions[i], err = publish(ctx, on)
			return err
		}) {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		slices.Sort(versions)
		if diff := cmp.Diff(want, versions); diff != "" {
			t.Errorf("%s: versions (-want +got):\n%s", what, diff)
		}
	}
	for _, h := range two.hosts {
		app, _ := h.Application("docs")
		var kept []int64
		for p, err := range app.ListCatalogVersions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, p.Version)
		}
		slices.Sort(kept)
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("the history (-want +got):\n%s", diff)
		}
	}
}
