package api

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/internal/admission"
)

// DefaultBodyLimit bounds a request body, in bytes.
const DefaultBodyLimit int64 = 10 << 20

// ProviderOptions configures the provider API of one application.
type ProviderOptions struct {
	// Application is served. Required.
	Application Backend

	// ApplicationID is what ping reports. Required.
	ApplicationID string

	// Secrets returns the secrets that open everything, the current one first, each of at
	// least 16 characters. It is asked at every request, so that they can be rotated.
	// Required; it may answer none where Limited has some.
	Secrets func() []string

	// Limited returns those that open less, likewise; nil is none.
	Limited func() Limited

	// Bearers limits failed authentication by client address. Handlers of one host
	// share it; nil gives this handler its own, which believes no proxy.
	Bearers *Bearers

	// AuditOptIn is what ping reports.
	AuditOptIn bool

	// Storage enables the operations on org snapshots; nil: they are unsupported.
	Storage OrgSnapshots

	// OnAuthorityChanged serves an application of the new authority from then on;
	// nil: a snapshot that moves authority is unsupported.
	OnAuthorityChanged AuthorityHook

	// Evaluator answers check; nil: check is unsupported.
	Evaluator Evaluator

	// Limiter refuses what is too much; nil refuses nothing.
	Limiter *admission.Limiter

	// BodyLimit bounds a body in bytes; 0 means DefaultBodyLimit.
	BodyLimit int64

	// OrgSnapshotBodyLimit is BodyLimit for applyOrgSnapshot; 0 means
	// DefaultOrgSnapshotBodyLimit.
	OrgSnapshotBodyLimit int64

	// Logger takes outages and internal errors; nil drops them.
	Logger hclog.Logger
}

type providerHandler struct {
	target
	secrets func() []string
	limited func() Limited
	digests atomic.Pointer[keyring] // of the secrets at the last request
	bearers *Bearers
	limit   int64
	large   int64 // of applyOrgSnapshot
	entries map[string]entry
	log     *journal
}

// NewProviderHandler serves the provider API: POST {base}/v1/{op} wherever it is
// mounted, as long as paths reach it uncleaned. It refuses to be built without an
// application, its id, or secrets of sufficient length.
func NewProviderHandler(o ProviderOptions) (http.Handler, error) {
	switch {
	case o.Application == nil:
		return nil, errors.New("a provider handler needs an application")
	case o.ApplicationID == "":
		return nil, errors.New("a provider handler needs an application id")
	case o.Secrets == nil:
		return nil, errors.New("a provider handler needs secrets")
	case o.BodyLimit < 0 || o.OrgSnapshotBodyLimit < 0:
		return nil, errors.New("the body limit of a provider handler is negative")
	}
	if o.Limited == nil {
		o.Limited = func() Limited { return Limited{} }
	}
	limited := o.Limited()
	if err := checkSecrets(slices.Concat(o.Secrets(), limited.Read, limited.Check)); err != nil {
		return nil, err
	}
	table, err := entries()
	if err != nil {
		return nil, err
	}
	if o.Bearers == nil {
		o.Bearers = NewBearers(nil)
	}
	return &providerHandler{
		target: target{app: o.Application, applicationID: o.ApplicationID,
			auditOptIn: o.AuditOptIn, evaluator: o.Evaluator, snapshots: o.Storage, authorityChanged: o.OnAuthorityChanged,
			limiter: o.Limiter},
		secrets: o.Secrets,
		limited: o.Limited,
		bearers: o.Bearers,
		limit:   orDefault(o.BodyLimit, DefaultBodyLimit),
		large:   orDefault(o.OrgSnapshotBodyLimit, DefaultOrgSnapshotBodyLimit),
		entries: table,
		log:     newJournal(o.Logger),
	}, nil
}

func orDefault(n, def int64) int64 {
	if n == 0 {
		return def
	}
	return n
}

func orSilent(log hclog.Logger) hclog.Logger {
	if log == nil {
		return hclog.NewNullLogger()
	}
	return log
}

// ring digests the secrets when they have changed.
func (h *providerHandler) ring() *keyring {
	secrets := h.secrets()
	ring := h.digests.Load()
	if limited := h.limited(); ring == nil || !ring.of(secrets, limited) {
		ring = newKeyring(secrets, limited)
		h.digests.Store(ring)
	}
	return ring
}

func (h *providerHandler) known(op string) bool {
	_, ok := h.entries[op]
	return ok
}

// ServeHTTP takes the steps of serving a request in their order
// (spec: provider-api §2); the first that fails answers.
func (h *providerHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve(w, r, h.log, func(x *exchange) (any, error) {
		if err := postOnly(r); err != nil {
			return nil, err
		}
		is := h.ring().authenticate(r)
		if is == 0 {
			return nil, h.bearers.refuse(r)
		}
		op, err := operationName(rawPath(r), h.known)
		if err != nil {
			return nil, err
		}
		e, ok := h.entries[op]
		if ok {
			if !is.admits(&e.Operation) {
				return nil, is.refuses(&e.Operation)
			}
			if err := e.expect(h.limiter); err != nil {
				x.name(h.applicationID, e.Op)
				return nil, err
			}
		}
		body, err := x.readBody(e.bodyLimit(h.limit, h.large))
		if err != nil {
			return nil, err
		}
		if e.quick != nil {
			if act := e.quick(x, body, &h.target); act != nil {
				x.name(h.applicationID, e.Op)
				return x.runQuick(e, act, h.limiter)
			}
		}
		x.mayTakeLong()
		members, err := parseBody(body)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, unknownOp(op)
		}
		x.name(h.applicationID, e.Op)
		c := newCall(e.Op, members, h.target)
		c.exchange, c.rowless = x, is.rowless()
		return e.run(r.Context(), c)
	})
}
