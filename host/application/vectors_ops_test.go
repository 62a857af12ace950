package application_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

type arguments map[string]json.RawMessage

// read decodes one argument; an absent one is the zero value.
func read[T any](t *testing.T, a arguments, name string) (v T) {
	t.Helper()
	if raw, ok := a[name]; ok {
		must(t, json.Unmarshal(raw, &v))
	}
	return v
}

type operation func(r *replay, args map[string]json.RawMessage) (any, error)

// written reads the provenance, as the wire does, and runs a write.
func written(raw json.RawMessage, do func(authz.Provenance) (any, error)) (any, error) {
	prov, err := authz.ParseProvenance(raw)
	if err != nil {
		return nil, err
	}
	return do(prov)
}

// operations are those of the scripts that this package has.
var operations = map[string]operation{
	"capabilities": func(r *replay, _ map[string]json.RawMessage) (any, error) { return r.app.Capabilities(r.t.Context()) },
	"getSubjectAccess": func(r *replay, a map[string]json.RawMessage) (any, error) {
		access, err := r.app.GetSubjectAccess(r.t.Context(), read[authz.Principal](r.t, a, "principal"))
		return orNil(reduced(access), err)
	},
	"createGrant": func(r *replay, a map[string]json.RawMessage) (any, error) {
		sent := read[arguments](r.t, a, "input")
		return written(sent["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.CreateGrant(r.t.Context(), read[provider.GrantInput](r.t, a, "input"), p))
		})
	},
	"createGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.CreateGrants(r.t.Context(), read[[]provider.GrantInput](r.t, a, "inputs"), p))
		})
	},
	"deleteGrant": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.DeleteGrant(r.t.Context(), read[string](r.t, a, "grantId"), p)
		})
	},
	"listGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return rows(r.t, r.app.ListGrants(r.t.Context(), grantQuery(r.t, a))), nil
	},
	"countGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.app.CountGrants(r.t.Context(), grantQuery(r.t, a)))
	},
	"createRevoke": func(r *replay, a map[string]json.RawMessage) (any, error) {
		sent := read[arguments](r.t, a, "input")
		return written(sent["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.CreateRevoke(r.t.Context(), read[provider.RevokeInput](r.t, a, "input"), p))
		})
	},
	"deleteRevoke": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.DeleteRevoke(r.t.Context(), read[string](r.t, a, "revokeId"), p)
		})
	},
	"listRevokes": func(r *replay, a map[string]json.RawMessage) (any, error) {
		f := read[struct{ UserID, Scope *string }](r.t, a, "filter")
		return rows(r.t, r.app.ListRevokes(r.t.Context(), provider.RevokeQuery{UserID: f.UserID, Scope: f.Scope})), nil
	},
	"deleteSubject": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.DeleteSubject(r.t.Context(), read[string](r.t, a, "subject"), p))
		})
	},
	"deleteScope": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.DeleteScope(r.t.Context(), read[string](r.t, a, "scope"), p))
		})
	},
	"reconcileRows": func(r *replay, a map[string]json.RawMessage) (any, error) {
		in := provider.Reconciliation{UserExists: among(r.t, a, "users"), OrgExists: among(r.t, a, "orgs"),
			ScopeExists: among(r.t, a, "scopes"), Sweep: read[bool](r.t, a, "sweep"), Provenance: read[authz.Provenance](r.t, a, "provenance")}
		return orNil(r.app.ReconcileRows(r.t.Context(), in))
	},
	"submitRequest": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.app.SubmitRequest(r.t.Context(), read[provider.RequestInput](r.t, a, "input")))
	},
	"decideRequest": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.app.DecideRequest(r.t.Context(), read[string](r.t, a, "requestId"), read[provider.DecisionInput](r.t, a, "decision")))
	},
	"cancelRequest": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.app.CancelRequest(r.t.Context(), read[string](r.t, a, "requestId"), read[string](r.t, a, "byUserId")))
	},
	"listRequests": func(r *replay, a map[string]json.RawMessage) (any, error) {
		q := read[provider.RequestQuery](r.t, a, "filter")
		return outlined(rows(r.t, r.app.ListRequests(r.t.Context(), q))), nil
	},
	"listApproverQueue": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return outlined(rows(r.t, r.app.ListApproverQueue(r.t.Context(), read[string](r.t, a, "approverUserId")))), nil
	},
	"createRole": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.CreateRole(r.t.Context(), read[provider.RoleInput](r.t, a, "input"), p))
		})
	},
	"updateRole": func(r *replay, a map[string]json.RawMessage) (any, error) {
		in := read[provider.RoleUpdate](r.t, a, "input")
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.UpdateRole(r.t.Context(), read[string](r.t, a, "roleId"), in, p))
		})
	},
	"deleteRole": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.DeleteRole(r.t.Context(), read[string](r.t, a, "roleId"), p)
		})
	},
	"listRoles": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return rows(r.t, r.app.ListRoles(r.t.Context(), provider.Paging{})), nil
	},
	"createGroup": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.CreateGroup(r.t.Context(), read[provider.GroupInput](r.t, a, "input"), p))
		})
	},
	"updateGroup": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.UpdateGroup(r.t.Context(), read[string](r.t, a, "groupId"), read[provider.GroupUpdate](r.t, a, "input"), p))
		})
	},
	"setGroupParents": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.app.SetGroupParents(r.t.Context(), read[string](r.t, a, "groupId"), read[[]string](r.t, a, "parents"), p))
		})
	},
	"deleteGroup": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.DeleteGroup(r.t.Context(), read[string](r.t, a, "groupId"), p)
		})
	},
	"setGroupMembership": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.SetGroupMembership(r.t.Context(), read[string](r.t, a, "userId"), read[[]string](r.t, a, "groupIds"), p)
		})
	},
	"dissolveVirtualParent": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.DissolveVirtualParent(r.t.Context(), read[string](r.t, a, "groupId"), p)
		})
	},
	"getGroupMembers": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.app.GetGroupMembers(r.t.Context(), read[string](r.t, a, "groupId")))
	},
	"listGroups": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return rows(r.t, r.app.ListGroups(r.t.Context(), provider.Paging{})), nil
	},
	"setUserActive": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.SetUserActive(r.t.Context(), read[string](r.t, a, "userId"), read[bool](r.t, a, "active"), p)
		})
	},
	"setReportingEdge": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.app.SetReportingEdge(r.t.Context(), read[string](r.t, a, "userId"), read[string](r.t, a, "managerUserId"), p)
		})
	},
	"getReportingEdges": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return r.app.GetReportingEdges(r.t.Context())
	},
	"publishCatalog": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			version, err := r.app.PublishCatalog(r.t.Context(), a["document"], p)
			return orNil(map[string]int64{"version": version}, err)
		})
	},
	"getPublishedCatalog": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		head, err := r.app.GetPublishedCatalog(r.t.Context())
		if err != nil || head == nil {
			return nil, err
		}
		document, err := catalog.CheckDocument(head.Document)
		must(r.t, err)
		slices.Sort(document.Keys)
		return map[string]any{"version": head.Version, "namespace": document.Namespace, "keys": document.Keys}, nil
	},
	"publishImports": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			version, err := r.app.PublishImports(r.t.Context(), a["manifest"], p)
			return orNil(map[string]int64{"version": version}, err)
		})
	},
	"getPublishedImports": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return orNil(r.app.GetPublishedImports(r.t.Context()))
	},
	"listCatalogVersions": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return rows(r.t, r.app.ListCatalogVersions(r.t.Context())), nil
	},
	"listWildcardDrift": func(r *replay, a map[string]json.RawMessage) (any, error) {
		in := read[struct{ SinceVersion int64 }](r.t, a, "input")
		report, err := r.app.ListWildcardDrift(r.t.Context(), in.SinceVersion)
		if err != nil {
			return nil, err
		}
		found := rows(r.t, report.Findings)
		named := namedFindings(found, "grantId", "roleId")
		for i, f := range found {
			named[i].(map[string]any)["via"].(map[string]any)["kind"] = f.Via.Kind
		}
		return map[string]any{"fromVersion": report.FromVersion, "toVersion": report.ToVersion,
			"gainedKeys": report.GainedKeys, "removedKeys": report.RemovedKeys, "findings": named}, nil
	},
	"listSodViolations": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return rows(r.t, r.app.ListSodViolations(r.t.Context(), reviewedUsers(r.t, a))), nil
	},
	"exportEntitlements": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return sortedExport(rows(r.t, r.app.ExportEntitlements(r.t.Context(), reviewedUsers(r.t, a)))), nil
	},
	"listAuditEvents": func(r *replay, a map[string]json.RawMessage) (any, error) {
		found := []any{}
		q := read[provider.AuditQuery](r.t, a, "filter")
		for e, err := range r.app.ListAuditEvents(r.t.Context(), q) {
			if err != nil {
				return nil, err
			}
			found = append(found, withoutID(r.t, e))
		}
		return found, nil
	},
	"notifyScopeMoved": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return nil, r.app.NotifyScopeMoved(r.t.Context(), read[string](r.t, a, "scope"))
	},
	"importDirectory": func(r *replay, a map[string]json.RawMessage) (any, error) {
		o := read[directory.Options](r.t, a, "options")
		result, err := r.app.ImportDirectory(r.t.Context(), read[directory.Snapshot](r.t, a, "snapshot"), read[string](r.t, a, "source"), o)
		if err != nil {
			return nil, err
		}
		shown := map[string]any{"warnings": shortened(result.Warnings), "virtualParents": result.VirtualParents}
		if o.Authoritative {
			shown["deactivatedUsers"] = append([]string{}, result.DeactivatedUsers...)
			shown["removedMemberships"], shown["clearedReportingEdges"] = result.RemovedMemberships, result.ClearedReportingEdges
		}
		return shown, nil
	},
}

// shortened gives the warning whose text is free after its beginning the text of
// the scripts.
func shortened(warnings []string) []string {
	const free = "authoritative memberships skipped:"
	out := slices.Clone(warnings)
	for i, w := range out {
		if strings.HasPrefix(w, free) {
			out[i] = free + " the snapshot carries no `groups` section, so directory-managed groups cannot be told apart from locally-authored ones"
		}
	}
	return out
}

// among is the predicate of a list of ids; nil when it is absent.
func among(t *testing.T, a map[string]json.RawMessage, name string) provider.Exists {
	if _, given := a[name]; !given {
		return nil
	}
	ids := read[[]string](t, a, name)
	return func(_ context.Context, id string) (bool, error) { return slices.Contains(ids, id), nil }
}

func reviewedUsers(t *testing.T, a map[string]json.RawMessage) *[]string {
	return read[struct{ UserIDs *[]string }](t, a, "options").UserIDs
}

func grantQuery(t *testing.T, a map[string]json.RawMessage) provider.GrantQuery {
	f := read[struct{ Subject, Scope, RoleID *string }](t, a, "filter")
	return provider.GrantQuery{Subject: f.Subject, Scope: f.Scope, RoleID: f.RoleID}
}

// reduced is a supply in the form of the vectors: sets sorted, rows by id.
func reduced(a authz.SubjectAccess) map[string]any {
	sorted := func(ids []string) []string {
		ids = append([]string{}, ids...)
		slices.Sort(ids)
		return ids
	}
	grants, revokes, roles := []string{}, []string{}, []string{}
	for _, g := range a.Grants {
		grants = append(grants, g.ID)
	}
	for _, v := range a.Revokes {
		revokes = append(revokes, v.ID)
	}
	for _, role := range a.Roles {
		roles = append(roles, role.ID)
	}
	return map[string]any{
		"userId": a.UserID, "active": a.Active, "closure": sorted(a.Closure),
		"managerChain": append([]string{}, a.ManagerChain...), "grantIds": sorted(grants), "revokeIds": sorted(revokes),
		"roleIds": sorted(roles), "unresolvedRoleIds": sorted(a.UnresolvedRoleIDs),
	}
}
