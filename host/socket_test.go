package host_test

import (
	"context"
	"iter"

	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// socket is an application at the administration socket.
type socket struct {
	*provider.Caller
	app string
}

var _ scripts.Local = socket{}

func (s socket) call(ctx context.Context, op string, params object, result any) error {
	return s.Call(ctx, s.app+"/"+op, params, result)
}

func listed[T any](ctx context.Context, s socket, op, member string, params object) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var answer map[string][]T
		if err := s.call(ctx, op, params, &answer); err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, row := range answer[member] {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// ImportDirectory sends what is empty and leaves out what is absent.
func (s socket) ImportDirectory(ctx context.Context, in directory.Snapshot, source string, o directory.Options) (result directory.Result, err error) {
	snapshot := object{}
	if in.Groups != nil {
		snapshot["groups"] = in.Groups
	}
	if in.Memberships != nil {
		snapshot["memberships"] = in.Memberships
	}
	if in.ReportingEdges != nil {
		snapshot["reportingEdges"] = in.ReportingEdges
	}
	if in.Orgs != nil {
		snapshot["orgs"] = in.Orgs
	}
	if in.Users != nil {
		snapshot["users"] = in.Users
	}
	err = s.call(ctx, "importDirectory", object{"snapshot": snapshot, "source": source, "options": o}, &result)
	return result, err
}

func (s socket) NotifyScopeMoved(ctx context.Context, scope string) error {
	return s.call(ctx, "notifyScopeMoved", object{"scope": scope}, nil)
}

func (s socket) ReconcileRows(ctx context.Context, in scripts.Reconciliation) (found provider.Reconciled, err error) {
	err = s.Call(ctx, s.app+"/reconcileRows", in, &found)
	return found, err
}

func about(userIDs *[]string) object {
	if userIDs == nil {
		return nil
	}
	return object{"userIds": *userIDs}
}

func (s socket) ListSodViolations(ctx context.Context, userIDs *[]string) iter.Seq2[access.Violations, error] {
	return listed[access.Violations](ctx, s, "listSodViolations", "users", about(userIDs))
}

func (s socket) ExportEntitlements(ctx context.Context, userIDs *[]string) iter.Seq2[access.UserEntitlements, error] {
	return listed[access.UserEntitlements](ctx, s, "exportEntitlements", "users", about(userIDs))
}

func (s socket) ListCatalogVersions(ctx context.Context) iter.Seq2[catalog.Publication, error] {
	return listed[catalog.Publication](ctx, s, "listCatalogVersions", "versions", nil)
}

func (s socket) ListWildcardDrift(ctx context.Context, sinceVersion int64) (access.DriftReport, error) {
	var answer struct {
		access.DriftReport
		Findings []access.DriftFinding `json:"findings"`
	}
	err := s.call(ctx, "listWildcardDrift", object{"sinceVersion": sinceVersion}, &answer)
	answer.DriftReport.Findings = func(yield func(access.DriftFinding, error) bool) {
		for _, f := range answer.Findings {
			if !yield(f, nil) {
				return
			}
		}
	}
	return answer.DriftReport, err
}
