package orgroot

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// Applications finds who is to be asked; *applications.Entries does.
type Applications interface {
	Root(ctx context.Context, org string) (applications.Asked, error)
	Linked(ctx context.Context, org, id string) (applications.Asked, error)
	AllLinked(ctx context.Context, org string) ([]applications.Asked, error)
	Members(ctx context.Context, org string) ([]applications.Asked, error)
	NoteDeleted(ctx context.Context, org, userID string) error
	OwnerID(ctx context.Context, org, namespace string) (id string, found bool, err error)
}

// Account writes and reads the rows of account data; *service.Service does. Each
// write judges its own gate, which the methods May… judge alone.
type Account interface {
	ExplainAccount(ctx context.Context, org string, p authz.Principal, key, scope string) (access.Explained, error)

	// NoteActive keeps what the root says of a user who has a seat.
	NoteActive(ctx context.Context, org, userID string, active bool)

	// What a write of the org domain gives and takes in account data.
	Granted(ctx context.Context, org string, kinds ...authz.SubjectKind) (map[string]bool, error)
	MayReach(ctx context.Context, a *service.Access, subjects []string) error
	MayRestore(ctx context.Context, a *service.Access, userID string) error
	TakeFrom(ctx context.Context, a *service.Access, userID, act string, write func(context.Context) error) error
	Strict() bool

	IsAccountWrite(ctx context.Context, org, scope, pattern, roleID string) (bool, error)

	MayCreateAccountGrants(ctx context.Context, a *service.Access, in []provider.GrantInput) error
	MayChangeAccountGrants(ctx context.Context, a *service.Access, in provider.GrantsChange) error
	ChangedAccountGrants(ctx context.Context, a *service.Access, in provider.GrantsChange) (created []authz.Grant, done bool, err error)
	ChangeAccountGrants(ctx context.Context, a *service.Access, in provider.GrantsChange) ([]authz.Grant, error)
	CreateAccountGrants(ctx context.Context, a *service.Access, in []provider.GrantInput, one bool) ([]authz.Grant, error)
	AccountGrant(ctx context.Context, org, id string) (authz.Grant, bool, error)
	AccountGrants(ctx context.Context, org string, q authz.GrantSearch) iter.Seq2[authz.Grant, error]
	DeleteAccountGrant(ctx context.Context, a *service.Access, id string) error

	MayCreateAccountRevoke(ctx context.Context, a *service.Access, in provider.RevokeInput) error
	CreateAccountRevoke(ctx context.Context, a *service.Access, in provider.RevokeInput) (authz.Revoke, error)
	AccountRevoke(ctx context.Context, org, id string) (authz.Revoke, bool, error)
	AccountRevokes(ctx context.Context, org string, q provider.RevokeQuery) iter.Seq2[authz.Revoke, error]
	DeleteAccountRevoke(ctx context.Context, a *service.Access, id string) error

	AccountRole(ctx context.Context, org, id string) (authz.Role, bool, error)
	AccountRoles(ctx context.Context, org string, p provider.Paging) iter.Seq2[authz.Role, error]
	MayCreateAccountRole(ctx context.Context, a *service.Access, in provider.RoleInput) error
	CreateAccountRole(ctx context.Context, a *service.Access, in provider.RoleInput) (authz.Role, error)
	UpdateAccountRole(ctx context.Context, a *service.Access, id string, in provider.RoleUpdate, match func(authz.Role) error) (authz.Role, error)
	DeleteAccountRole(ctx context.Context, a *service.Access, id string, match func(authz.Role) error) error
}

// Root serves the org domain of every org. Its methods return *fault.Error.
type Root struct {
	apps  Applications
	clock func() int64

	// account is set after the core was made, which asks this for its gates.
	account Account

	mu       sync.Mutex
	attached map[string]*attached // by org
}

type attached struct {
	to     relay.Backend
	client *client.Client
}

// maxAttached bounds the orgs whose closures are kept.
const maxAttached = 1000

// New makes a Root; Bind completes it.
func New(apps Applications, clock func() int64) *Root {
	return &Root{apps: apps, clock: clock, attached: map[string]*attached{}}
}

// Bind gives the account data, before the first request.
func (r *Root) Bind(account Account) { r.account = account }

var (
	_ service.OrgRoot = (*Root)(nil)
	_ Account         = (*service.Service)(nil)
)

// Close lets go of the clients.
func (r *Root) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for org, a := range r.attached {
		a.client.Close()
		delete(r.attached, org)
	}
}

// closures supplies the client, which here is asked at scope * only: no chain is
// needed, and none is asked for.
type closures struct{ relay.Backend }

func (closures) ResolveAncestors(context.Context, string) ([]string, error) {
	return []string{authz.Global}, nil
}

// clientOf is the standard client on the org root, a new one when that has moved.
// Its closures answer only while the root's link is confirmed.
func (r *Root) clientOf(ctx context.Context, org string) (*client.Client, error) {
	root, err := r.apps.Root(ctx, org)
	if err != nil {
		return nil, err
	}
	if err := root.Relay.Confirm(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.attached[org]; a != nil {
		if a.to == root.Relay {
			return a.client, nil
		}
		a.client.Close()
		delete(r.attached, org)
	}
	c, err := client.New(client.Options{Provider: closures{root.Relay}, Catalog: cloud.Evaluable(), Clock: r.clock})
	if err != nil {
		return nil, fault.Internal(err)
	}
	for other, a := range r.attached {
		if len(r.attached) < maxAttached {
			break
		}
		a.client.Close()
		delete(r.attached, other)
	}
	r.attached[org] = &attached{root.Relay, c}
	return c, nil
}

// drop forgets the closures of an org.
func (r *Root) drop(org string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.attached[org]; a != nil {
		a.client.Close()
		delete(r.attached, org)
	}
}

// rows are the closure and rows of a principal at the org root.
func (r *Root) rows(ctx context.Context, org string, p authz.Principal, fresh bool) (*authz.SubjectAccess, error) {
	c, err := r.clientOf(ctx, org)
	if err != nil {
		return nil, err
	}
	read := func() (*authz.SubjectAccess, error) {
		snapshot, err := c.Snapshot(ctx, p, client.SnapshotOptions{Fresh: fresh})
		if err != nil {
			return nil, failed(err)
		}
		return snapshot.Rows(), nil
	}
	if !fresh {
		return read()
	}
	return once(ctx, org, p, read)
}

// failed keeps errors of the API and names the others.
func failed(err error) error {
	var here *fault.Error
	if err == nil || errors.As(err, &here) {
		return err
	}
	if refused := relay.Refusal(err); refused != nil {
		return refused
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fault.Transport("application_timeout", "", "", "the application did not answer in time")
	}
	return fault.Internal(err)
}

func isCode(err error, code string) bool {
	e := new(fault.Error)
	return errors.As(err, &e) && e.Code == code
}

// Access is the closure supply of a principal.
func (r *Root) Access(ctx context.Context, org string, p authz.Principal, fresh bool) (*authz.SubjectAccess, error) {
	return r.rows(ctx, org, p, fresh)
}

// Active reads anew: of two requests that are judged one after the other, the second
// must see what the first one did.
func (r *Root) Active(ctx context.Context, org, userID string) (bool, error) {
	rows, err := r.rows(WithOneReading(ctx), org, authz.UserPrincipal(userID), true)
	if err != nil {
		return false, err
	}
	return rows.Active, nil
}

// judges are who has to hold a key: the actor and, in a preview, whom they look
// like. A role that is not there confers nothing.
func (r *Root) judges(ctx context.Context, org string, p authz.Principal, view *client.ViewAs, fresh bool) ([]*compiled.Access, error) {
	actor, err := r.rows(ctx, org, p, fresh)
	if err != nil {
		return nil, err
	}
	data := []*authz.SubjectAccess{actor}
	if view != nil {
		var previewed *authz.SubjectAccess
		if view.Kind == client.ViewAsUser {
			previewed, err = r.rows(ctx, org, authz.UserPrincipal(view.UserID), fresh)
		} else {
			previewed, err = r.previewed(ctx, org, view.RoleID)
		}
		if err != nil {
			return nil, err
		}
		data = append(data, previewed)
	}
	judges := make([]*compiled.Access, len(data))
	for i, d := range data {
		judges[i] = compiled.Compile(vocabulary(), d, r.clock())
	}
	return judges, nil
}

var vocabulary = sync.OnceValue(func() *compiled.Vocabulary { return compiled.NewVocabulary(cloud.Evaluable()) })

// previewed is a role as the rows of nobody.
func (r *Root) previewed(ctx context.Context, org, id string) (*authz.SubjectAccess, error) {
	rows := &authz.SubjectAccess{Closure: []string{"preview"}, Active: true}
	role, err := r.Role(ctx, org, id)
	if isCode(err, string(authz.CodeNotFound)) {
		return rows, nil
	} else if err != nil {
		return nil, err
	}
	for _, pattern := range role.Patterns {
		rows.Grants = append(rows.Grants, authz.Grant{Subject: "preview", Pattern: pattern, Scope: authz.Global})
	}
	return rows, nil
}

// Decide answers whether a principal holds a key of authz_internal at *, and why
// not. Only the org root's data decide; account vocabulary is never asked here.
func (r *Root) Decide(ctx context.Context, q service.Question) (bool, authz.DenialReason, error) {
	key, declared := vocabulary().Lookup(q.Key)
	if !declared || authz.NamespaceOf(q.Key) != authz.InternalNamespace {
		return false, "", fault.Internal(errors.New("not a key of the org domain: " + q.Key))
	}
	judges, err := r.judges(ctx, q.Org, q.Principal, q.ViewAs, q.Fresh)
	if err != nil {
		return false, "", err
	}
	for i, j := range judges {
		if !j.Active() && i == 0 {
			return false, authz.ReasonInactive, nil
		}
		if allowed, _ := j.Decide(key, compiled.GlobalChain); !allowed || !j.Active() {
			return false, authz.ReasonForbidden, nil
		}
	}
	return true, "", nil
}

// Held lists the keys of authz_internal that a principal holds at *, in the order
// of the catalog.
func (r *Root) Held(ctx context.Context, org string, p authz.Principal, view *client.ViewAs) ([]service.HeldKey, error) {
	judges, err := r.judges(ctx, org, p, view, false)
	if err != nil {
		return nil, err
	}
	held := []service.HeldKey{}
keys:
	for _, name := range cloud.Evaluable().KeysMatching(authz.InternalNamespace + ".*") {
		key, _ := vocabulary().Lookup(name)
		for _, j := range judges {
			if allowed, _ := j.Decide(key, compiled.GlobalChain); !allowed || !j.Active() {
				continue keys
			}
		}
		held = append(held, service.HeldKey{Key: name, Scopes: []string{authz.Global}})
	}
	return held, nil
}

// Role is a role of the org root.
func (r *Root) Role(ctx context.Context, org, id string) (authz.Role, error) {
	root, err := r.apps.Root(ctx, org)
	if err != nil {
		return authz.Role{}, err
	}
	return find(root.Relay.ListRoles(ctx, before(id)), "role", id, func(role authz.Role) string { return role.ID })
}

// Status tells where the root is and whether it answers.
func (r *Root) Status(ctx context.Context, org string) (service.RootStatus, error) {
	root, err := r.apps.Root(ctx, org)
	if isCode(err, "no_org_root") {
		return service.RootStatus{Home: service.HomeNone}, nil
	} else if err != nil {
		return service.RootStatus{}, err
	}
	ping, err := root.Relay.Ping(ctx)
	status := service.RootStatus{Home: service.HomeApplication, Application: root.ID}
	if root.Hosted() {
		status.Home = service.HomeHosted
	}
	status.Reachable = err == nil && relay.CheckPing(ping, root.ID) == nil && ping.OrgRoot
	return status, nil
}

// require is the gate of an org-domain key, fresh for writes.
func (r *Root) require(ctx context.Context, a *service.Access, key string, fresh bool) error {
	q := service.Question{Org: a.Org.ID, Principal: a.Caller.Principal(), ViewAs: a.ViewAs, Key: key, Fresh: fresh}
	allowed, reason, err := r.Decide(ctx, q)
	if err != nil || allowed {
		return err
	}
	return fault.Denied(string(reason), key, authz.Global, a.Caller.Principal())
}

// The keys of the org domain that are asked here. The others stand in the table of
// endpoints.
const (
	keyGrants   = "authz_internal.access.manage_grants"
	keyRevokes  = "authz_internal.access.manage_revokes"
	keyRoles    = "authz_internal.access.manage_roles"
	keyRequests = "authz_internal.requests.read"
)

// atRoot asks the org root to do something. A root that says it is none is moving.
func (r *Root) atRoot(ctx context.Context, org string, fn func(applications.Asked) error) error {
	root, err := r.apps.Root(ctx, org)
	if err != nil {
		return err
	}
	err = fn(root)
	if e := new(fault.Error); errors.As(err, &e) && e.Name == "ProviderWriteRejectedError" && e.Code == string(authz.CodeNotOrgRoot) {
		if ping, asked := root.Relay.Ping(ctx); asked != nil || !ping.OrgRoot {
			e := fault.Cloud("org_root_moving", "the org root says that it is none; try again when account data and application agree")
			if root.ID != "" {
				e.With("application", root.ID)
			}
			return e
		}
	}
	return err
}

// rooted is atRoot for what has an answer.
func rooted[T any](ctx context.Context, r *Root, org string, fn func(applications.Asked) (T, error)) (v T, err error) {
	err = r.atRoot(ctx, org, func(to applications.Asked) (err error) {
		v, err = fn(to)
		return err
	})
	return v, err
}
