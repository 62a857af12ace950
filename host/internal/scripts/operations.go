package scripts

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

type arguments map[string]json.RawMessage

// read decodes one argument; an absent one is the zero value.
func read[T any](t testing.TB, a arguments, name string) (v T) {
	t.Helper()
	if raw, ok := a[name]; ok {
		must(t, json.Unmarshal(raw, &v))
	}
	return v
}

// readAll decodes one argument of which every member must be known: a filter that is
// not understood would select too much.
func readAll[T any](t testing.TB, a arguments, name string) (v T) {
	t.Helper()
	if raw, ok := a[name]; ok {
		must(t, strictly(raw, &v))
	}
	return v
}

// called is what the provider handler answered.
type called struct {
	Status int            `json:"status"`
	Body   map[string]any `json:"body"`
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

// operations are those that a Surface has.
var operations = map[string]operation{
	"capabilities": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return r.on.Provider.Capabilities(r.t.Context())
	},
	"getSubjectAccess": func(r *replay, a map[string]json.RawMessage) (any, error) {
		access, err := r.on.Provider.GetSubjectAccess(r.t.Context(), read[authz.Principal](r.t, a, "principal"))
		return orNil(Reduced(access), err)
	},
	"createGrant": func(r *replay, a map[string]json.RawMessage) (any, error) {
		sent := read[arguments](r.t, a, "input")
		return written(sent["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.CreateGrant(r.t.Context(), read[provider.GrantInput](r.t, a, "input"), p))
		})
	},
	"createGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.CreateGrants(r.t.Context(), read[[]provider.GrantInput](r.t, a, "inputs"), p))
		})
	},
	"deleteGrant": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.DeleteGrant(r.t.Context(), read[string](r.t, a, "grantId"), p)
		})
	},
	"changeGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			change := provider.GrantsChange{Delete: read[[]string](r.t, a, "delete"), Expire: read[[]provider.GrantExpiry](r.t, a, "expire"), Create: read[[]provider.GrantInput](r.t, a, "create")}
			return orNil(r.on.Provider.ChangeGrants(r.t.Context(), change, p))
		})
	},
	"listGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return listed(r.on.Provider.ListGrants(r.t.Context(), grantQuery(r.t, a)))
	},
	"countGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.on.Provider.CountGrants(r.t.Context(), grantQuery(r.t, a)))
	},
	"createRevoke": func(r *replay, a map[string]json.RawMessage) (any, error) {
		sent := read[arguments](r.t, a, "input")
		return written(sent["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.CreateRevoke(r.t.Context(), read[provider.RevokeInput](r.t, a, "input"), p))
		})
	},
	"deleteRevoke": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.DeleteRevoke(r.t.Context(), read[string](r.t, a, "revokeId"), p)
		})
	},
	"listRevokes": func(r *replay, a map[string]json.RawMessage) (any, error) {
		f := readAll[struct{ UserID, Scope *string }](r.t, a, "filter")
		return listed(r.on.Provider.ListRevokes(r.t.Context(), provider.RevokeQuery{UserID: f.UserID, Scope: f.Scope}))
	},
	"deleteSubject": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.DeleteSubject(r.t.Context(), read[string](r.t, a, "subject"), p))
		})
	},
	"deleteScope": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.DeleteScope(r.t.Context(), read[string](r.t, a, "scope"), p))
		})
	},
	"reconcileRows": func(r *replay, a map[string]json.RawMessage) (any, error) {
		in := Reconciliation{Users: read[*[]string](r.t, a, "users"), Orgs: read[*[]string](r.t, a, "orgs"), Scopes: read[*[]string](r.t, a, "scopes"),
			Sweep: read[bool](r.t, a, "sweep"), KeepRoleGrants: read[bool](r.t, a, "keepRoleGrants"), Provenance: read[authz.Provenance](r.t, a, "provenance")}
		return orNil(r.on.Local.ReconcileRows(r.t.Context(), in))
	},
	"submitRequest": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.on.Provider.SubmitRequest(r.t.Context(), read[provider.RequestInput](r.t, a, "input")))
	},
	"decideRequest": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.on.Provider.DecideRequest(r.t.Context(), read[string](r.t, a, "requestId"), read[provider.DecisionInput](r.t, a, "decision")))
	},
	"cancelRequest": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.on.Provider.CancelRequest(r.t.Context(), read[string](r.t, a, "requestId"), read[string](r.t, a, "byUserId")))
	},
	"listRequests": func(r *replay, a map[string]json.RawMessage) (any, error) {
		q := readAll[provider.RequestQuery](r.t, a, "filter")
		return outlined(r.on.Provider.ListRequests(r.t.Context(), q))
	},
	"listApproverQueue": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return outlined(r.on.Provider.ListApproverQueue(r.t.Context(), read[string](r.t, a, "approverUserId")))
	},
	"createRole": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.CreateRole(r.t.Context(), read[provider.RoleInput](r.t, a, "input"), p))
		})
	},
	"updateRole": func(r *replay, a map[string]json.RawMessage) (any, error) {
		in, sent := read[provider.RoleUpdate](r.t, a, "input"), read[arguments](r.t, a, "input")
		if string(sent["description"]) == "null" {
			in.Description = new(string)
		}
		in.ClearRequestable = string(sent["requestable"]) == "null"
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.UpdateRole(r.t.Context(), read[string](r.t, a, "roleId"), in, p))
		})
	},
	"deleteRole": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.DeleteRole(r.t.Context(), read[string](r.t, a, "roleId"), p)
		})
	},
	"listRoles": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return listed(r.on.Provider.ListRoles(r.t.Context(), provider.Paging{}))
	},
	"createGroup": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.CreateGroup(r.t.Context(), read[provider.GroupInput](r.t, a, "input"), p))
		})
	},
	"updateGroup": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.UpdateGroup(r.t.Context(), read[string](r.t, a, "groupId"), read[provider.GroupUpdate](r.t, a, "input"), p))
		})
	},
	"setGroupParents": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return orNil(r.on.Provider.SetGroupParents(r.t.Context(), read[string](r.t, a, "groupId"), read[[]string](r.t, a, "parents"), p))
		})
	},
	"deleteGroup": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.DeleteGroup(r.t.Context(), read[string](r.t, a, "groupId"), p)
		})
	},
	"setGroupMembership": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.SetGroupMembership(r.t.Context(), read[string](r.t, a, "userId"), read[[]string](r.t, a, "groupIds"), p)
		})
	},
	"changeGroupMembership": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			change := provider.MembershipChange{Add: read[[]string](r.t, a, "add"), Remove: read[[]string](r.t, a, "remove")}
			return nil, r.on.Provider.ChangeGroupMembership(r.t.Context(), read[string](r.t, a, "userId"), change, p)
		})
	},
	"findGrants": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return listed(r.on.Provider.FindGrants(r.t.Context(), provider.GrantsQuery{GrantSearch: readAll[authz.GrantSearch](r.t, a, "filter"),
			Paging: provider.Paging{After: read[string](r.t, a, "after"), Limit: read[int](r.t, a, "limit")}}))
	},
	"listUsers": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return listed(r.on.Provider.ListUsers(r.t.Context(), readAll[provider.UserQuery](r.t, a, "filter")))
	},
	"listRecordedScopes": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return listed(r.on.Provider.ListRecordedScopes(r.t.Context(), readAll[provider.RecordedScopeQuery](r.t, a, "filter")))
	},
	"getUser": func(r *replay, a map[string]json.RawMessage) (any, error) {
		user, err := r.on.Provider.GetUser(r.t.Context(), read[string](r.t, a, "userId"))
		return map[string]any{"user": user}, err
	},
	"dissolveVirtualParent": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.DissolveVirtualParent(r.t.Context(), read[string](r.t, a, "groupId"), p)
		})
	},
	"getGroupMembers": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return orNil(r.on.Provider.GetGroupMembers(r.t.Context(), read[string](r.t, a, "groupId")))
	},
	"listGroups": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return listed(r.on.Provider.ListGroups(r.t.Context(), provider.Paging{}))
	},
	"setUserActive": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.SetUserActive(r.t.Context(), read[string](r.t, a, "userId"), read[bool](r.t, a, "active"), p)
		})
	},
	"setReportingEdge": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			return nil, r.on.Provider.SetReportingEdge(r.t.Context(), read[string](r.t, a, "userId"), read[string](r.t, a, "managerUserId"), p)
		})
	},
	"getReportingEdges": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return r.on.Provider.GetReportingEdges(r.t.Context())
	},
	"publishCatalog": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return written(a["provenance"], func(p authz.Provenance) (any, error) {
			version, err := r.on.Provider.PublishCatalog(r.t.Context(), a["document"], p)
			return orNil(map[string]int64{"version": version}, err)
		})
	},
	"getPublishedCatalog": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		head, err := r.on.Provider.GetPublishedCatalog(r.t.Context())
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
			version, err := r.on.Provider.PublishImports(r.t.Context(), a["manifest"], p)
			return orNil(map[string]int64{"version": version}, err)
		})
	},
	"getPublishedImports": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return orNil(r.on.Provider.GetPublishedImports(r.t.Context()))
	},
	"listCatalogVersions": func(r *replay, _ map[string]json.RawMessage) (any, error) {
		return listed(r.on.Local.ListCatalogVersions(r.t.Context()))
	},
	"listWildcardDrift": func(r *replay, a map[string]json.RawMessage) (any, error) {
		in := readAll[struct{ SinceVersion int64 }](r.t, a, "input")
		report, err := r.on.Local.ListWildcardDrift(r.t.Context(), in.SinceVersion)
		if err != nil {
			return nil, err
		}
		found := rows(r.t, report.Findings)
		named := NamedFindings(found, "grantId", "roleId")
		for i, f := range found {
			named[i].(map[string]any)["via"].(map[string]any)["kind"] = f.Via.Kind
		}
		return map[string]any{"fromVersion": report.FromVersion, "toVersion": report.ToVersion,
			"gainedKeys": report.GainedKeys, "removedKeys": report.RemovedKeys, "findings": named}, nil
	},
	"listSodViolations": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return listed(r.on.Local.ListSodViolations(r.t.Context(), reviewedUsers(r.t, a)))
	},
	"exportEntitlements": func(r *replay, a map[string]json.RawMessage) (any, error) {
		found, err := collected(r.on.Local.ExportEntitlements(r.t.Context(), reviewedUsers(r.t, a)))
		if err != nil {
			return nil, err
		}
		return SortedExport(found), nil
	},
	"listAuditEvents": func(r *replay, a map[string]json.RawMessage) (any, error) {
		found := []any{}
		q := readAll[provider.AuditQuery](r.t, a, "filter")
		for e, err := range r.on.Provider.ListAuditEvents(r.t.Context(), q) {
			if err != nil {
				return nil, err
			}
			found = append(found, withoutID(r.t, e))
		}
		return found, nil
	},
	"notifyScopeMoved": func(r *replay, a map[string]json.RawMessage) (any, error) {
		return nil, r.on.Local.NotifyScopeMoved(r.t.Context(), read[string](r.t, a, "scope"))
	},
	"provider": func(r *replay, a map[string]json.RawMessage) (any, error) {
		body := a["body"]
		if body == nil {
			body = json.RawMessage(`{}`)
		}
		got := r.on.Call(r.t, read[string](r.t, a, "op"), body)
		var answer map[string]any
		must(r.t, json.Unmarshal(got.Body, &answer))
		return called{got.Status, answer}, nil
	},
	"importDirectory": func(r *replay, a map[string]json.RawMessage) (any, error) {
		o := readAll[directory.Options](r.t, a, "options")
		result, err := r.on.Local.ImportDirectory(r.t.Context(), read[directory.Snapshot](r.t, a, "snapshot"), read[string](r.t, a, "source"), o)
		if err != nil {
			return nil, err
		}
		shown := map[string]any{"warnings": result.Warnings, "virtualParents": result.VirtualParents}
		if o.Authoritative {
			shown["deactivatedUsers"] = append([]string{}, result.DeactivatedUsers...)
			shown["removedMemberships"], shown["clearedReportingEdges"] = result.RemovedMemberships, result.ClearedReportingEdges
		}
		return shown, nil
	},
}
