package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Application is what an HTTP surface needs of the application that it serves.
type Application interface {
	provider.Provider

	// StoredOrgRoot reads the stored authority, the same from every host.
	StoredOrgRoot(ctx context.Context) (bool, error)

	// HasEpoch reports that events are persisted: a fact about construction.
	HasEpoch() bool

	// HasMetrics reports that usage is stored.
	HasMetrics() bool

	// HasStoredAncestry reports that the application keeps parent edges of
	// scopes itself.
	HasStoredAncestry() bool

	// HasImports reports that the driver stores import manifests.
	HasImports() bool
}

// call is one operation being read.
type call struct {
	object // its parameters

	target
	exchange *exchange // nil without gates

	// Of the administration socket alone:
	actor *authz.Provenance // stands in for provenance that was left out
	local LocalApplication
	host  HostControl
}

func newCall(op string, members map[string]json.RawMessage, t target) *call {
	return &call{object: object{op: op, members: members, problem: &problem{}}, target: t}
}

// target is what a surface serves: one application, with what belongs to it.
type target struct {
	app           Application
	applicationID string
	auditOptIn    bool
	evaluator     Evaluator // nil: check is unsupported

	snapshots        OrgSnapshots  // nil: they are unsupported
	authorityChanged AuthorityHook // nil: authority cannot move

	gates *admission.Gates // nil: everything is admitted
}

// operation reads its parameters from the call and returns what is to be done.
// Reading has no effect; the action runs only when every parameter read.
type operation func(c *call) action

// action does the work. Its result is a value that marshals to a JSON object, or
// a rowStream.
type action func(ctx context.Context) (any, error)

// entry is an operation as a surface serves it.
type entry struct {
	provider.Operation
	read   operation
	within time.Duration // 0 means operationTimeout
}

// operations is the dispatch table, in correspondence with the manifest.
func operations() map[string]operation {
	return map[string]operation{
		"ping":             ping,
		"capabilities":     capabilities,
		"getSubjectAccess": getSubjectAccess,
		"resolveAncestors": resolveAncestors,
		"check":            check,
		"epoch.head":       epochHead,
		"epoch.since":      epochSince,

		"createGrant":  createGrant,
		"createGrants": createGrants,
		"deleteGrant":  deleteGrant,
		"listGrants":   listGrants,
		"countGrants":  countGrants,
		"createRevoke": createRevoke,
		"deleteRevoke": deleteRevoke,
		"listRevokes":  listRevokes,

		"deleteSubject":     deleteSubject,
		"deleteScope":       deleteScope,
		"submitRequest":     submitRequest,
		"decideRequest":     decideRequest,
		"cancelRequest":     cancelRequest,
		"listRequests":      listRequests,
		"listApproverQueue": listApproverQueue,

		"publishCatalog":      publishCatalog,
		"getPublishedCatalog": getPublishedCatalog,
		"publishImports":      publishImports,
		"getPublishedImports": getPublishedImports,

		"listRoles":          listRoles,
		"createRole":         createRole,
		"updateRole":         updateRole,
		"deleteRole":         deleteRole,
		"listGroups":         listGroups,
		"createGroup":        createGroup,
		"updateGroup":        updateGroup,
		"setGroupParents":    setGroupParents,
		"deleteGroup":        deleteGroup,
		"setGroupMembership": setGroupMembership,
		"getGroupMembers":    getGroupMembers,
		"setUserActive":      setUserActive,
		"setReportingEdge":   setReportingEdge,
		"getReportingEdges":  getReportingEdges,

		"dissolveVirtualParent": dissolveVirtualParent,

		"listAuditEvents": listAuditEvents,

		"reportMetrics":      reportMetrics,
		"getGrantUsage":      getGrantUsage,
		"getRevokeUsage":     getRevokeUsage,
		"getRoleUsage":       getRoleUsage,
		"getPermissionUsage": getPermissionUsage,
		"getScopeTypeUsage":  getScopeTypeUsage,

		opExportOrgSnapshot: exportOrgSnapshot,
		opApplyOrgSnapshot:  applyOrgSnapshot,

		"setScopeParents": setScopeParents,
	}
}

// entries joins the manifest with the dispatch table.
func entries() (map[string]entry, error) {
	table := operations()
	joined := make(map[string]entry, len(table))
	for _, op := range provider.Operations {
		read, ok := table[op.Op]
		if !ok {
			return nil, fmt.Errorf("operation %q of the manifest has no handler", op.Op)
		}
		joined[op.Op] = entry{Operation: op, read: read, within: patience[op.Op]}
	}
	return joined, addAliases(joined)
}

// operationTimeout bounds one operation, streams apart.
const operationTimeout = 30 * time.Second

// patience is for operations on a whole organization, and on as many rows as there are.
var patience = map[string]time.Duration{opExportOrgSnapshot: importTimeout, opApplyOrgSnapshot: importTimeout,
	"deleteSubject": importTimeout, "deleteScope": importTimeout}

// run is steps 7 to 9 of provider-api §2: required parameters, the gate, the
// operation once it is admitted.
func (e entry) run(ctx context.Context, c *call) (any, error) {
	if err := e.checkRequired(c); err != nil {
		return nil, err
	}
	if err := e.checkGate(c); err != nil {
		return nil, err
	}
	act := e.read(c)
	c.problem.refuseUnknown()
	if err := c.problem.err; err != nil {
		return nil, err
	}
	if err := c.exchange.admit(e, c.gates, c.reserve()); err != nil {
		return nil, err
	}
	return e.do(ctx, act)
}

// do is step 9, the operation.
func (e entry) do(ctx context.Context, act action) (any, error) {
	limited := limit(ctx, cmp.Or(e.within, operationTimeout))
	defer limited.end()
	ctx, span := beginOperation(limited, e.Op)
	result, err := act(ctx)
	err = e.outage(ctx, err)
	endOperation(span, err)
	return result, err
}

func (e entry) checkRequired(c *call) error {
	required := e.Required
	if e.Op == "check" && !c.has("checks") {
		required = []string{"principal", "key"}
	}
	for _, field := range required {
		if c.has(field) || field == "provenance" && c.actor != nil {
			continue
		}
		if _, present := c.raw(field); present && slices.Contains(e.NullAllowed, field) {
			continue
		}
		return authz.Validation("%s requires the %q field", e.Op, field)
	}
	return nil
}

func (e entry) checkGate(c *call) error {
	switch {
	case e.Requires == provider.GateEpoch && !c.app.HasEpoch():
		return noEpoch()
	case e.Requires == provider.GateMetrics && !c.app.HasMetrics():
		return authz.Rejected(authz.CodeUnsupported, "metrics are not enabled on this Application: its option metrics is off")
	case e.Requires == provider.GateStorage && c.snapshots == nil:
		return authz.Rejected(authz.CodeUnsupported, "org snapshot operations require the storage option")
	case e.Requires == provider.GateAncestry && !c.app.HasStoredAncestry():
		return authz.Rejected(authz.CodeUnsupported,
			"this application does not record the ancestry of scopes: that needs ancestry.kind stored and a driver with the ancestry capability")
	case e.Requires == provider.GateImports && !c.app.HasImports():
		return authz.Rejected(authz.CodeUnsupported, "this application does not store import manifests: its storage driver lacks the imports capability")
	case e.Op == "check" && c.evaluator == nil:
		return authz.Rejected(authz.CodeUnsupported,
			"the check operation needs an Application (a provider with a catalog) on the serving side")
	}
	return nil
}

func noEpoch() error {
	return authz.Rejected(authz.CodeUnsupported, "this application does not persist events (events.persist is off)")
}

// outage turns a deadline that ran out into the product's own error: of a write
// nobody can say then whether it was applied.
func (e entry) outage(ctx context.Context, err error) error {
	var typed authz.Error
	if err == nil || errors.As(err, &typed) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	late := &authz.UnavailableError{Message: e.Op + " did not finish in time", Cause: err}
	if e.Kind == provider.Write {
		late.Outcome = authz.OutcomeUnknown
	}
	return late
}

// provenance reads the member "provenance" of o; a local caller may leave it out.
// It is read after the other members, so that their shape is judged first.
func (c *call) provenance(o object) authz.Provenance {
	if c.actor != nil && !o.has("provenance") {
		return *c.actor
	}
	p, err := authz.ParseProvenance(o.value("provenance"))
	if err != nil {
		c.problem.refuse(err)
	}
	return p
}

// page reads the paging members of a list (host.md §5). One row more than the
// limit is asked for, which tells whether there is a next page.
func (c *call) page() (p provider.Paging, limit int) {
	limit = c.limit()
	p.After = c.text("after")
	if limit > 0 {
		p.Limit = limit + 1
	}
	return p, limit
}

// maxPage bounds the rows of one page of a list.
const maxPage = 10_000

// limit reads the size of a page; 0 when absent.
func (c *call) limit() int {
	if !c.has("limit") {
		return 0
	}
	n, ok := parseInteger(c.value("limit"))
	if !ok || n < 1 || n > maxPage {
		c.refuse("limit", fmt.Sprintf("an integer from 1 to %d", maxPage))
		return 0
	}
	return int(n)
}

// void is the result of operations that answer {}.
type void struct{}
