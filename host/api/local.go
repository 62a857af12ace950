package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// LocalBackend is an application as the administration socket serves it: the
// provider API and what does not cross the network.
type LocalBackend interface {
	Backend
	Evaluator

	ImportDirectory(ctx context.Context, s directory.Snapshot, source string, o directory.Options) (directory.Result, error)

	// NotifyScopeMoved tells caches that the ancestors of a scope changed.
	NotifyScopeMoved(ctx context.Context, scope string) error

	// ValidateGrantableAt says why a pattern cannot be granted at a scope; nil
	// when it can. The arguments are well-formed.
	ValidateGrantableAt(pattern, scope string) *authz.Issue

	// ValidateKnownPattern says why no grant or role may name a pattern; nil when
	// they may. The argument is well-formed.
	ValidateKnownPattern(pattern string) *authz.Issue

	// ValidateScopeType says that a scope has a type which the catalog does not
	// declare, though it declares others; nil when there is nothing to say.
	ValidateScopeType(scope string) *authz.Issue

	// ReconcileRows finds rows of what does not exist, and deletes them when asked
	// to.
	ReconcileRows(ctx context.Context, in provider.Reconciliation) (provider.Reconciled, error)

	// LookUp tells what is stored of a subject.
	LookUp(ctx context.Context, subject string) (provider.Known, error)

	Reviewer
	OrgSnapshots

	// Limiter is that of the application's provider API as well; nil refuses nothing.
	Limiter() *admission.Limiter

	// AuthorityChanged is the AuthorityHook of the application.
	AuthorityChanged(ctx context.Context, orgRoot bool) error
}

// Reviewer is what an application tells its auditors. Nil userIDs ask about every
// user whom it knows.
type Reviewer interface {
	ListSodViolations(ctx context.Context, userIDs *[]string) iter.Seq2[access.Violations, error]
	ExportEntitlements(ctx context.Context, userIDs *[]string) iter.Seq2[access.UserEntitlements, error]
	ListWildcardDrift(ctx context.Context, sinceVersion int64) (access.DriftReport, error)
	ListCatalogVersions(ctx context.Context) iter.Seq2[catalog.Publication, error]

	// VerifyAuditChain reads the whole log; it verifies what follows the entry of
	// priorHash, everything when that is "".
	VerifyAuditChain(ctx context.Context, priorHash string) (authz.HashChainReport, error)
}

// HostApplication is the name under which the socket serves the host itself.
const HostApplication = "_host"

// DefaultImportBodyLimit bounds the bodies of importDirectory and reconcileRows,
// in bytes.
const DefaultImportBodyLimit int64 = 256 << 20

// ConfigHeader names the configuration file of the host that a caller of the socket means:
// an absolute path, percent-encoded.
const ConfigHeader = "Authz-Config"

// LocalOptions configures the local administration API.
type LocalOptions struct {
	// Applications finds an application by its name. Required.
	Applications func(name string) (LocalBackend, bool)

	// Host is what HostApplication controls. Required.
	Host HostControl

	// Config is the file that the host's configuration was read from; "" is none, and
	// then every caller means this host.
	Config string

	// BodyLimit bounds a body in bytes; 0 means DefaultBodyLimit.
	BodyLimit int64

	// ImportBodyLimit is BodyLimit for importDirectory and reconcileRows, which
	// name everything there is; 0 means DefaultImportBodyLimit.
	ImportBodyLimit int64

	// OrgSnapshotBodyLimit is BodyLimit for applyOrgSnapshot; 0 means
	// DefaultOrgSnapshotBodyLimit.
	OrgSnapshotBodyLimit int64

	// Logger takes outages and internal errors; nil drops them.
	Logger hclog.Logger
}

type localHandler struct {
	applications func(string) (LocalBackend, bool)
	host         HostControl
	config       string
	limit        int64
	importLimit  int64
	large        int64 // of applyOrgSnapshot
	entries      map[string]entry
	hostEntries  map[string]entry
	log          *journal
}

// NewLocalHandler serves POST /local/v1/{app}/{op} without authentication:
// reaching the socket is the credential, so it must be served on the listener of
// listen.Local only. Provenance may be left out where the peer of the connection
// is known (listen.NewServer sees to that).
func NewLocalHandler(o LocalOptions) (http.Handler, error) {
	if o.Applications == nil || o.Host == nil {
		return nil, errors.New("the local handler needs applications and a host")
	}
	table, err := entries()
	if err != nil {
		return nil, err
	}
	for _, e := range localEntries() {
		table[e.Op] = e
	}
	h := &localHandler{
		applications: o.Applications,
		host:         o.Host,
		config:       o.Config,
		limit:        orDefault(o.BodyLimit, DefaultBodyLimit),
		importLimit:  orDefault(o.ImportBodyLimit, DefaultImportBodyLimit),
		large:        orDefault(o.OrgSnapshotBodyLimit, DefaultOrgSnapshotBodyLimit),
		entries:      table,
		hostEntries:  map[string]entry{},
		log:          newJournal(o.Logger),
	}
	for _, e := range hostEntries() {
		h.hostEntries[e.Op] = e
	}
	return h, nil
}

func (h *localHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve(w, r, h.log, func(x *exchange) (any, error) {
		if err := postOnly(r); err != nil {
			return nil, err
		}
		if largeHeaders(r) {
			return nil, errLargeHeaders()
		}
		if err := h.meant(r.Header.Get(ConfigHeader)); err != nil {
			return nil, err
		}
		app, op, err := localPath(rawPath(r))
		if err != nil {
			return nil, err
		}
		if e, ok := h.entries[op]; ok {
			op = e.Op // not an older name of it
		}
		limit := h.entries[op].bodyLimit(h.limit, h.large)
		if op == "importDirectory" || op == "reconcileRows" {
			limit = h.importLimit
		}
		members, err := x.readMembers(limit)
		if err != nil {
			return nil, err
		}
		c := newCall(op, members, target{applicationID: app})
		c.object = c.strictly()
		if login, ok := listen.PeerLogin(x.r.Context()); ok {
			actor := authz.AdminProvenance("local:" + login)
			c.problem.actor = &actor
		}
		if app == HostApplication {
			return h.runHost(x, op, c)
		}
		return h.runApplication(x, app, op, c)
	})
}

// meant refuses a caller who means the host of another configuration file. A file that is
// not seen here lies in another view of the file system, which tells nothing.
func (h *localHandler) meant(header string) error {
	named, err := url.PathUnescape(header)
	if err != nil {
		return authz.Validation("the header %s is not percent-encoded: %s", ConfigHeader, spell.Quote(header))
	}
	if named == "" || h.config == "" || named == h.config {
		return nil
	}
	theirs, err := os.Stat(named)
	if err != nil {
		return nil
	}
	if ours, err := os.Stat(h.config); err == nil && os.SameFile(ours, theirs) {
		return nil
	}
	return authz.Rejected(authz.CodeConflict, "the host at this socket runs with %s, and not with %s: start the host of that file; where both name no run_dir of their own, give it one", spell.Quote(h.config), spell.Quote(named))
}

func (h *localHandler) runHost(x *exchange, op string, c *call) (any, error) {
	e, ok := h.hostEntries[op]
	if !ok {
		return nil, unknownOp(op)
	}
	x.app = HostApplication
	x.name(HostApplication, op)
	c.host = h.host
	return e.run(x.r.Context(), c)
}

func (h *localHandler) runApplication(x *exchange, name, op string, c *call) (any, error) {
	app, ok := h.applications(name)
	if !ok {
		return nil, &provider.APIError{Code: provider.UnknownOp, Message: "unknown application " + spell.Quote(name)}
	}
	e, ok := h.entries[op]
	if !ok {
		return nil, unknownOp(op)
	}
	x.app = name
	x.name(name, op)
	c.app, c.evaluator, c.local = app, app, app
	c.snapshots, c.authorityChanged, c.limiter = app, app.AuthorityChanged, app.Limiter()
	c.exchange = x
	return e.run(x.r.Context(), c)
}

// localPath splits /local/v1/{app}/{op}, each part decoded once.
func localPath(path string) (app, op string, err error) {
	rest, ok := strings.CutPrefix(path, "/local/v1/")
	rawApp, rawOp, found := strings.Cut(rest, "/")
	app, appErr := url.PathUnescape(rawApp)
	op, opErr := url.PathUnescape(rawOp)
	if !ok || !found || app == "" || op == "" || appErr != nil || opErr != nil {
		return "", "", &provider.APIError{Code: provider.UnknownOp, Message: "expected a path of the form /local/v1/{app}/{op}"}
	}
	return app, op, nil
}
