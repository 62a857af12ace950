package provider

import (
	"context"
	"iter"
	"reflect"

	"github.com/authzhost/authz/sdk/authz"
)

// Kind says whether an operation changes anything.
type Kind string

// The kinds of operation.
const (
	Read  Kind = "read"
	Write Kind = "write"
)

// Feature is what an operation needs; without it the answer is
// unsupported (501).
type Feature string

// The features, by their names in the manifest.
const (
	FeatureEventLog Feature = "epoch"
	FeatureMetrics  Feature = "metrics"
	FeatureStorage  Feature = "storage"
	FeatureAncestry Feature = "ancestry"
	FeatureImports  Feature = "imports"
)

// Gate is the former name of Feature.
//
// Deprecated: use Feature.
type Gate = Feature

// The former names of the features.
//
// Deprecated: use those of Feature.
const (
	GateEpoch    = FeatureEventLog
	GateMetrics  = FeatureMetrics
	GateStorage  = FeatureStorage
	GateAncestry = FeatureAncestry
	GateImports  = FeatureImports
)

// Operation is all that is known of one operation: by the wire, by its OpenAPI
// document, by the calls of a Hosted and by the serving side. It is declared once,
// beside its method of Provider.
type Operation struct {
	Op       string  `json:"op"`
	Kind     Kind    `json:"kind"`
	Method   string  `json:"method,omitempty"` // of Provider; "" for operations of the wire alone
	Requires Feature `json:"requires,omitempty"`

	// Tag, Summary, Notes and Answer are its words in the OpenAPI document.
	Tag     string `json:"-"`
	Summary string `json:"-"`
	Notes   string `json:"-"`
	Answer  string `json:"-"`

	// Older is its name in older versions. Both names are served.
	Older string `json:"-"`

	// List is the member that holds the rows of a list, "" of any other answer.
	List string `json:"-"`

	// Lenient answers may lack members: those of older applications do.
	Lenient bool `json:"-"`

	// Key is the position of a row in the list that was asked for by in. The answer names it
	// as next.
	Key func(in, row any) any `json:"-"`

	input, output reflect.Type // of a list the row
	do            func(ctx context.Context, to Provider, in, out any) error
	each          func(ctx context.Context, to Provider, in any, row func(any) error) error
}

// Input is the struct of the named parameters; Members lists the rules of its fields.
func (o *Operation) Input() reflect.Type { return o.input }

// Output is the type of the answer, of a list that of a row.
func (o *Operation) Output() reflect.Type { return o.output }

// Do carries out an operation that is no list. in points to its input, out to where its
// output goes. On an error out stays as it was.
func (o *Operation) Do(ctx context.Context, to Provider, in, out any) error {
	if o.do == nil {
		return authz.Rejected(authz.CodeUnsupported, "%s is answered by the serving side itself, not by its provider", o.Op)
	}
	return o.do(ctx, to, in, out)
}

// Each carries out a list and calls row with a pointer to each row, valid until row
// returns. When row returns an error, Each stops and returns it.
func (o *Operation) Each(ctx context.Context, to Provider, in any, row func(any) error) error {
	return o.each(ctx, to, in, row)
}

// Carried reports whether a Provider carries the operation out. The serving side
// answers the others itself.
func (o *Operation) Carried() bool { return o.do != nil || o.each != nil }

// Required are the parameters that must be present, in the order in which their
// absence is reported.
func (o *Operation) Required() (names []string) {
	for _, m := range Members(o.input) {
		if m.Required {
			names = append(names, m.Name)
		}
	}
	return names
}

// operation is an Operation with the types of its input and its output.
type operation[In, Out any] struct{ Operation }

// declare makes an operation of do, nil where no Provider carries it out.
func declare[In, Out any](o Operation, do func(ctx context.Context, to Provider, in *In) (Out, error)) operation[In, Out] {
	o.input, o.output = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	if do != nil {
		o.do = func(ctx context.Context, to Provider, in, out any) error {
			answer, err := do(ctx, to, in.(*In))
			if err == nil {
				*out.(*Out) = answer
			}
			return err
		}
	}
	return operation[In, Out]{o}
}

// list is an operation that answers rows.
type list[In, Row any] struct{ Operation }

func declareList[In, Row any](o Operation, key func(*Row) any, open func(ctx context.Context, to Provider, in *In) iter.Seq2[Row, error]) list[In, Row] {
	return declareOrdered(o, func(_ *In, row *Row) any { return key(row) }, open)
}

// declareOrdered is declareList of rows whose position depends on what was asked.
func declareOrdered[In, Row any](o Operation, key func(*In, *Row) any, open func(ctx context.Context, to Provider, in *In) iter.Seq2[Row, error]) list[In, Row] {
	o.Kind, o.input, o.output = Read, reflect.TypeFor[In](), reflect.TypeFor[Row]()
	o.Key = func(in, row any) any { return key(in.(*In), row.(*Row)) }
	o.each = func(ctx context.Context, to Provider, in any, row func(any) error) error {
		held := new(Row)
		for r, err := range open(ctx, to, in.(*In)) {
			if err != nil {
				return err
			}
			*held = r
			if err := row(held); err != nil {
				return err
			}
		}
		return nil
	}
	return list[In, Row]{o}
}

// Paged is embedded in the input of lists that are read in pages.
type Paged struct {
	Limit int    `json:"limit,omitempty" read:"page"`
	After string `json:"after,omitempty" doc:"The key of the last row received."`
}

// Page is what a reader of any list sets.
func (p *Paged) Page() *int { return &p.Limit }

func (p *Paged) paging() Paging { return Paging{After: p.After, Limit: p.Limit} }

func (p *Paged) paged() *Paged { return p }

// none is an input or an output without members.
type none struct{}

// Operations is the manifest, in the order of the table (spec: provider-api §6).
var Operations = []*Operation{
	&opPing.Operation, &opCapabilities.Operation, &opGetSubjectAccess.Operation, &opResolveAncestors.Operation,
	&opCheck.Operation, &opExplain.Operation, &opListSubjects.Operation, &opListScopes.Operation, &opListKeys.Operation, &opPlan.Operation, &opEventLogHead.Operation, &opEventLogSince.Operation,
	&opCreateGrant.Operation, &opCreateGrants.Operation, &opDeleteGrant.Operation, &opChangeGrants.Operation, &opListGrants.Operation, &opFindGrants.Operation, &opCountGrants.Operation,
	&opCreateRevoke.Operation, &opDeleteRevoke.Operation, &opListRevokes.Operation,
	&opDeleteSubject.Operation, &opDeleteScope.Operation,
	&opSubmitRequest.Operation, &opDecideRequest.Operation, &opCancelRequest.Operation, &opListRequests.Operation, &opListApproverQueue.Operation,
	&opPublishCatalog.Operation, &opGetPublishedCatalog.Operation, &opPublishImports.Operation, &opGetPublishedImports.Operation,
	&opListRoles.Operation, &opCreateRole.Operation, &opUpdateRole.Operation, &opDeleteRole.Operation,
	&opListGroups.Operation, &opCreateGroup.Operation, &opUpdateGroup.Operation, &opSetGroupParents.Operation, &opDeleteGroup.Operation,
	&opSetGroupMembership.Operation, &opChangeGroupMembership.Operation, &opGetGroupMembers.Operation,
	&opSetUserActive.Operation, &opSetReportingEdge.Operation, &opGetReportingEdges.Operation, &opGetUser.Operation, &opListUsers.Operation, &opDissolveVirtualParent.Operation,
	&opListAuditEvents.Operation,
	&opReviewSodViolations.Operation, &opReviewEntitlements.Operation, &opReviewWildcardDrift.Operation, &opReviewAuditChain.Operation,
	&opReportMetrics.Operation, &opGetGrantUsage.Operation, &opGetRevokeUsage.Operation, &opGetRoleUsage.Operation,
	&opGetPermissionUsage.Operation, &opGetScopeTypeUsage.Operation,
	&opExportOrgSnapshot.Operation, &opApplyOrgSnapshot.Operation, &opSetScopeParents.Operation, &opListRecordedScopes.Operation, &opGetMesh.Operation,
}

// LookupOperation finds an operation by its exact name.
func LookupOperation(op string) (*Operation, bool) {
	for _, o := range Operations {
		if o.Op == op {
			return o, true
		}
	}
	return nil, false
}
