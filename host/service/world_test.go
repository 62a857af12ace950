package service_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	bootUser   = "root"
	bootSecret = "a-bootstrap-secret-of-more-than-32-characters"
)

// world is account data in a memory store, with hosts over it.
type world struct {
	t        *testing.T
	clock    atomic.Int64
	accounts *account.Store
	entries  *applications.Entries
	far      *relay.Relay
	meters   *billing.Meters
	keys     *secret.Keys
	root     *orgRoot
	s        *service.Service
	records  storage.Store
	logging  sync.Mutex
	log      *strings.Builder // of every host, read when they are closed
}

// orgRoot asks a real application in this process, as the relay asks one that is
// far away. It is the root of every org while it is set.
type orgRoot struct {
	app    *application.Application
	client *client.Client
	down   error
}

func newWorld(t *testing.T) *world { return worldOf(t, service.Options{}) }

func worldOf(t *testing.T, o service.Options) *world {
	t.Helper()
	w := &world{t: t, root: &orgRoot{}}
	w.clock.Store(1_800_000_000_000)
	driver := memory.New(memory.Options{Clock: w.clock.Load})
	t.Cleanup(func() { _ = driver.Close() })
	records, err := driver.Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	w.records, w.log = records, &strings.Builder{}
	w.accounts = account.New(records, w.clock.Load)
	if w.keys, err = secret.NewKeys([][]byte{slices.Repeat([]byte{9}, secret.KeyLength)}); err != nil {
		t.Fatal(err)
	}
	w.meters = billing.New(billing.Options{Store: w.accounts, Standing: map[string]billing.Count{billing.AdminSeats: w.accounts.CountSeats}})
	if w.far, err = relay.New(relay.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.far.Close)
	w.entries = applications.New(applications.Options{Store: w.accounts, Keys: w.keys, Relay: w.far, Meters: w.meters})
	w.s = w.host(o)
	return w
}

// host is one more host over the same account data.
func (w *world) host(o service.Options) *service.Service {
	w.t.Helper()
	o.Accounts, o.Keys, o.Clock = w.accounts, w.keys, w.clock.Load
	o.Root, o.Applications, o.Meters = w.root, w.entries, w.meters
	if o.Bootstrap == (service.Bootstrap{}) {
		o.Bootstrap = service.Bootstrap{UserID: bootUser, Secret: bootSecret}
	}
	o.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: w.log, Mutex: &w.logging})
	if o.RefusalTime == 0 {
		o.RefusalTime = time.Millisecond
	}
	s, err := service.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Close)
	return s
}

// rooted gives the orgs an org root.
func (w *world) rooted() *application.Application {
	w.t.Helper()
	built, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}})
	if err != nil {
		w.t.Fatal(err)
	}
	driver := memory.New(memory.Options{Clock: w.clock.Load})
	w.t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(w.t.Context(), "docs")
	if err != nil {
		w.t.Fatal(err)
	}
	if w.root.app, err = application.New(w.t.Context(), application.Options{Name: "docs", Catalog: built, Store: store, Clock: w.clock.Load}); err != nil {
		w.t.Fatal(err)
	}
	if w.root.client, err = client.New(client.Options{Provider: w.root.app, Catalog: built, Clock: w.clock.Load}); err != nil {
		w.t.Fatal(err)
	}
	return w.root.app
}

func (r *orgRoot) ask(org string) error {
	if r.app == nil {
		return fault.Cloud("no_org_root", "org %s has no org root", org)
	}
	return r.down
}

func (r *orgRoot) Decide(ctx context.Context, q service.Question) (bool, authz.DenialReason, error) {
	if err := r.ask(q.Org); err != nil {
		return false, "", err
	}
	var denied *authz.AccessDeniedError
	err := r.client.Require(ctx, q.Principal, q.Key, authz.Global)
	if err == nil && q.ViewAs != nil && q.ViewAs.Kind == client.ViewAsUser {
		err = r.client.Require(ctx, authz.UserPrincipal(q.ViewAs.UserID), q.Key, authz.Global)
	}
	if errors.As(err, &denied) {
		return false, denied.Reason, nil
	}
	return err == nil, "", err
}

func (r *orgRoot) Access(ctx context.Context, org string, p authz.Principal, _ bool) (*authz.SubjectAccess, error) {
	if err := r.ask(org); err != nil {
		return nil, err
	}
	data, err := r.app.GetSubjectAccess(ctx, p)
	return &data, err
}

func (r *orgRoot) Active(ctx context.Context, org, userID string) (bool, error) {
	rows, err := r.Access(ctx, org, authz.UserPrincipal(userID), true)
	if err != nil {
		return false, err
	}
	return rows.Active, nil
}

// Beyond asks the one application there is, as the real one asks each.
func (r *orgRoot) Beyond(ctx context.Context, org string, caller, other authz.Principal) (beyond []string, err error) {
	if r.app == nil || r.down != nil {
		return nil, r.down
	}
	for _, key := range cloud.Evaluable().KeysMatching("authz_internal.*") {
		for _, who := range []authz.Principal{other, caller} {
			allowed, _, err := r.Decide(ctx, service.Question{Org: org, Principal: who, Key: key})
			if err != nil {
				return nil, err
			}
			if who == other && !allowed {
				break
			}
			if who == caller && !allowed {
				beyond = append(beyond, key)
			}
		}
	}
	return beyond, nil
}

func (r *orgRoot) Held(_ context.Context, org string, _ authz.Principal, _ *client.ViewAs) ([]service.HeldKey, error) {
	return nil, r.ask(org)
}

func (r *orgRoot) Role(ctx context.Context, org, id string) (authz.Role, error) {
	if err := r.ask(org); err != nil {
		return authz.Role{}, err
	}
	for role, err := range r.app.ListRoles(ctx, provider.Paging{}) {
		if err != nil || role.ID == id {
			return role, err
		}
	}
	return authz.Role{}, fault.Rejected(authz.CodeNotFound, "role not found")
}

func (r *orgRoot) Status(context.Context, string) (service.RootStatus, error) {
	if r.app == nil {
		return service.RootStatus{Home: service.HomeNone}, nil
	}
	return service.RootStatus{Home: service.HomeApplication, Application: "docs", Reachable: r.down == nil}, nil
}

// grant writes a row at the org root.
func (w *world) grant(in provider.GrantInput) {
	w.t.Helper()
	if _, err := w.root.app.CreateGrant(w.t.Context(), in, authz.AdminProvenance("test")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pass(d time.Duration) { w.clock.Add(d.Milliseconds()) }

// boot signs the bootstrap user in.
func (w *world) boot(org string) service.SignedIn {
	w.t.Helper()
	in, err := w.s.SignInBootstrap(w.t.Context(), service.BootstrapProof{Secret: bootSecret,
		Proved: service.Proved{Org: org, UserID: bootUser, Address: "192.0.2.1"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// signIn signs a user in whose proof was good.
func (w *world) signIn(org, userID string) service.SignedIn {
	w.t.Helper()
	in, err := w.s.SignIn(w.t.Context(), service.Proved{Org: org, UserID: userID, Method: service.MethodOIDC, Address: "192.0.2.1"})
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

func (w *world) caller(token string) service.Caller {
	w.t.Helper()
	c, err := w.s.Authenticate(w.t.Context(), service.Presented{Cookie: token, Address: "192.0.2.1"})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) bearer(s *service.Service, token string) (service.Caller, error) {
	return s.Authenticate(w.t.Context(), service.Presented{Authorization: []string{"Bearer " + token}})
}

// org makes an org whose owner is the bootstrap user, and enters it.
func (w *world) org(id string) *service.Access {
	w.t.Helper()
	var in service.SignedIn
	for row, err := range account.Sessions.Under(w.t.Context(), w.accounts, "", bootUser) {
		if err != nil {
			w.t.Fatal(err)
		}
		in.Session = row.Value.Session
	}
	caller := service.Caller{Kind: service.CallerSession, UserID: bootUser, CredentialID: in.Session.ID}
	if in.Session.ID == "" {
		caller = w.caller(w.boot("").Token)
	}
	if _, _, err := w.s.CreateOrg(w.t.Context(), caller, service.OrgInput{ID: &id, Name: id, OwnerUserID: bootUser}); err != nil {
		w.t.Fatal(err)
	}
	return w.enter(caller, id)
}

func (w *world) enter(c service.Caller, org string) *service.Access {
	w.t.Helper()
	gate := service.AnySeat
	if c.Kind == service.CallerPrincipal {
		gate = service.Me
	}
	a, err := w.s.Authorize(w.t.Context(), c, org, "", gate, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// member invites a seat, signs its user in and enters the org.
func (w *world) member(owner *service.Access, userID, kind string) *service.Access {
	w.t.Helper()
	if _, err := w.s.InviteSeat(w.t.Context(), owner, service.SeatInput{UserID: userID, Kind: kind}); err != nil {
		w.t.Fatal(err)
	}
	return w.enter(w.caller(w.signIn(owner.Org.ID, userID).Token), owner.Org.ID)
}

func (w *world) allow(owner *service.Access, in ...provider.GrantInput) {
	w.t.Helper()
	if _, err := w.s.CreateAccountGrants(w.t.Context(), owner, in, true); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) register(id string, namespaces ...string) {
	w.t.Helper()
	if _, err := w.entries.Register(w.t.Context(), bootUser, "acme", applications.Registration{ID: id, Name: id, Namespaces: namespaces}); err != nil {
		w.t.Fatal(err)
	}
}

// said is name and code of an error, "ok" without.
func said(err error) string {
	var f *fault.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &f):
		return f.Name + " " + f.Code
	}
	return "not an answer: " + err.Error()
}

func expect(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := said(err); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// actions lists the account log of an org.
func (w *world) actions(org string) []string {
	w.t.Helper()
	var out []string
	for row, err := range account.Log.All(w.t.Context(), w.accounts, org) {
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, row.Value.Action)
	}
	return out
}
