package memory

import (
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Rows are copied on their way in and out, so that no caller holds memory that
// a state holds.

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func copyGrant(r *authz.Grant) authz.Grant    { return *r }
func copyRevoke(r *authz.Revoke) authz.Revoke { return *r }

func copyRole(r *authz.Role) authz.Role {
	out := *r
	out.Patterns = slices.Clone(r.Patterns)
	if r.Requestable != nil {
		requestable := *r.Requestable
		requestable.Prompts = slices.Clone(requestable.Prompts)
		for i := range requestable.Prompts {
			p := &requestable.Prompts[i]
			p.Options, p.Required = slices.Clone(p.Options), copyOf(p.Required)
		}
		requestable.Stages = copyStages(requestable.Stages)
		out.Requestable = &requestable
	}
	return out
}

func copyStages(stages []authz.Stage) []authz.Stage {
	out := slices.Clone(stages)
	for i := range out {
		out[i].Predicate, out[i].Layers = copyOf(out[i].Predicate), copyOf(out[i].Layers)
	}
	return out
}

func copyGroup(r *authz.Group) authz.Group {
	out := *r
	out.Parents = slices.Clone(r.Parents)
	return out
}

func copyUser(r *authz.User) authz.User {
	out := *r
	out.GroupIDs, out.OrgIDs = slices.Clone(r.GroupIDs), slices.Clone(r.OrgIDs)
	return out
}

func copyRequest(r *authz.Request) authz.Request {
	out := *r
	out.Justification = maps.Clone(r.Justification)
	out.Stages = copyStages(r.Stages)
	out.Decisions = slices.Clone(r.Decisions)
	out.DecidedAt = copyOf(r.DecidedAt)
	return out
}

func copyAudit(r *authz.AuditEntry) authz.AuditEntry {
	out := *r
	out.Detail = slices.Clone(r.Detail)
	return out
}

func copyRecord(r *storage.Record) storage.Record {
	out := *r
	out.Data = slices.Clone(r.Data)
	return out
}

func copyResult(r storage.CommitResult) storage.CommitResult {
	r.Results = slices.Clone(r.Results)
	for i := range r.Results {
		c := &r.Results[i]
		c.Grant, c.Revoke = copyOf(c.Grant), copyOf(c.Revoke)
		if c.Request != nil {
			request := copyRequest(c.Request)
			c.Request = &request
		}
	}
	return r
}
