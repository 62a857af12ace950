package hostedclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type object = map[string]any

// TestOperationsGoToTheirEndpoints holds the mapping to requests; app is that of the
// client.
func TestOperationsGoToTheirEndpoints(t *testing.T) {
	in := object{"id": "i"}
	for _, c := range []struct {
		op     string
		params object
		app    string
		want   string
	}{
		{"createGrant", object{"input": in}, "", `POST /orgs/acme/org/grants {"id":"i"}`},
		{"createGrant", object{"input": in}, "docs", `POST /orgs/acme/applications/docs/grants {"id":"i"}`},
		{"createRevoke", object{"input": in}, "", `POST /orgs/acme/org/revokes {"id":"i"}`},
		{"listGrants", object{"filter": object{"role": "r"}, "limit": 3, "after": json.RawMessage(`"c"`)}, "", "GET /orgs/acme/org/grants?cursor=c&limit=3&role=r"},
		{"listRevokes", nil, "docs", "GET /orgs/acme/applications/docs/revokes"},
		{"deleteGrant", object{"grantId": "g"}, "", "DELETE /orgs/acme/org/grants/g"},
		{"deleteRevoke", object{"revokeId": "v"}, "docs", "DELETE /orgs/acme/applications/docs/revokes/v"},
		{"listAuditEvents", object{"filter": object{"limit": 5}}, "", "GET /orgs/acme/org/audit?limit=5"},
		{"resolveAncestors", object{"scope": "docs.folder:1"}, "docs", "GET /orgs/acme/applications/docs/ancestors?scope=docs.folder%3A1"},
		{"listRequests", nil, "docs", "GET /orgs/acme/requests?application=docs"},
		{"getRequest", object{"requestId": "q"}, "docs", "GET /orgs/acme/requests/q?application=docs"},
		{"submitRequest", object{"input": object{"requesterUserId": "u", "scope": "*"}}, "", `POST /orgs/acme/requests {"scope":"*"}`},
		{"decideRequest", object{"requestId": "q", "decision": object{"deciderUserId": "u", "decision": "approve"}}, "docs", `POST /orgs/acme/requests/q/decide {"application":"docs","decision":"approve"}`},
		{"cancelRequest", object{"requestId": "q"}, "", `POST /orgs/acme/requests/q/cancel {}`},
		{"createGrants", object{"inputs": []object{in}}, "", `POST /orgs/acme/org/grants/bulk {"grants":[{"id":"i"}]}`},
		{"changeGrants", object{"delete": []string{"g"}, "provenance": in}, "", `POST /orgs/acme/org/grants/change {"delete":["g"]}`},
		{"changeGrants", object{"delete": []string{"g"}, "provenance": in}, "docs", `POST /orgs/acme/org/grants/change {"application":"docs","delete":["g"]}`},
		{"findGrants", object{"filter": object{"actor": "ann", "order": "-createdAt", "createdFrom": 5}, "limit": 3}, "", "GET /orgs/acme/org/grants?actor=ann&createdFrom=5&limit=3&order=-createdAt"},
		{"reviewSodViolations", object{"limit": 3, "after": json.RawMessage(`"c"`)}, "", "GET /orgs/acme/org/sod-violations?cursor=c&limit=3"},
		{"reviewSodViolations", object{"userIds": []string{"u"}}, "docs", "GET /orgs/acme/applications/docs/sod-violations?userId=u"},
		{"reviewEntitlements", object{"userIds": []string{"u"}}, "", "GET /orgs/acme/org/entitlements?userId=u"},
		{"reviewEntitlements", object{"userIds": []string{"u", "v"}}, "", "GET /orgs/acme/org/entitlements?userIds=%5Bu+v%5D"}, // refused there
		{"reviewWildcardDrift", object{"sinceVersion": 1, "after": "c"}, "docs", "GET /orgs/acme/applications/docs/wildcard-drift?cursor=c&since=1"},
		{"reviewAuditChain", object{}, "", "GET /orgs/acme/org/audit/verify"},
		{"reviewAuditChain", object{"limit": 5, "after": provider.AuditPlace{AuditCursor: authz.AuditCursor{At: 7, ID: "e"}, Hash: "h"}}, "docs", "GET /orgs/acme/applications/docs/audit/verify?at=7&hash=h&id=e&limit=5"},
		{"listUsers", object{"filter": object{"prefix": "u", "active": true}, "limit": 3}, "", "GET /orgs/acme/org/users?active=true&limit=3&q=u"},
		{"listUsers", object{"filter": object{"stored": true}}, "", "GET /orgs/acme/org/users?stored=true"}, // which the hosted API refuses: nothing is dropped
		{"listRecordedScopes", object{"filter": object{"prefix": "d", "parent": "docs.folder:1"}}, "docs", "GET /orgs/acme/applications/docs/scopes?parent=docs.folder%3A1&q=d"},
		{"countGrants", object{"filter": object{"subject": "user:u"}}, "", "GET /orgs/acme/org/grants/count?subject=user%3Au"},
		{"listRoles", nil, "", "GET /orgs/acme/org/roles"},
		{"createRole", object{"input": in}, "", `POST /orgs/acme/org/roles {"id":"i"}`},
		{"updateRole", object{"roleId": "r", "input": in}, "", `PATCH /orgs/acme/org/roles/r {"id":"i"}`},
		{"deleteRole", object{"roleId": "r"}, "", "DELETE /orgs/acme/org/roles/r"},
		{"listGroups", nil, "", "GET /orgs/acme/org/groups"},
		{"createGroup", object{"input": in}, "", `POST /orgs/acme/org/groups {"id":"i"}`},
		{"updateGroup", object{"groupId": "g", "input": in}, "", `PATCH /orgs/acme/org/groups/g {"id":"i"}`},
		{"deleteGroup", object{"groupId": "g"}, "", "DELETE /orgs/acme/org/groups/g"},
		{"setGroupParents", object{"groupId": "g", "parents": []string{"p"}}, "", `PUT /orgs/acme/org/groups/g/parents {"parents":["p"]}`},
		{"dissolveVirtualParent", object{"groupId": "g"}, "", "POST /orgs/acme/org/groups/g/dissolve {}"},
		{"setGroupMembership", object{"userId": "u", "groupIds": []string{"g"}}, "", `PUT /orgs/acme/org/users/u/membership {"groupIds":["g"]}`},
		{"changeGroupMembership", object{"userId": "u", "add": []string{"g"}}, "", `PUT /orgs/acme/org/users/u/groups/g {}`},
		{"changeGroupMembership", object{"userId": "u", "remove": []string{"g"}}, "", `DELETE /orgs/acme/org/users/u/groups/g`},
		{"getUser", object{"userId": "u"}, "", `GET /orgs/acme/org/users/u`},
		{"setUserActive", object{"userId": "u", "active": false}, "", `PUT /orgs/acme/org/users/u/active {"active":false}`},
		{"setReportingEdge", object{"userId": "u", "managerUserId": nil}, "", `PUT /orgs/acme/org/users/u/manager {"managerUserId":null}`},
		{"getSubjectAccess", object{"principal": authz.UserPrincipal("u")}, "", "GET /orgs/acme/org/subject-access?userId=u"},
		{"getSubjectAccess", object{"principal": authz.Principal{ServiceID: "s"}}, "", "GET /orgs/acme/org/subject-access?serviceId=s"},
		{"deleteSubject", object{"subject": "user:u"}, "", "DELETE /orgs/acme/org/subjects/user:u"},
		{"deleteScope", object{"scope": "docs.folder:1"}, "", "DELETE /orgs/acme/org/scopes/docs.folder:1"},
	} {
		if _, ok := provider.LookupOperation(c.op); !ok && c.op != "getRequest" { // which the hosted API alone has
			t.Errorf("there is no operation %s", c.op)
		}
		f, client := newFar(t, says(200, "{}"))
		client.App = c.app
		if err := client.Call(t.Context(), c.op, c.params, nil); err != nil || !slices.Equal(f.asked, []string{c.want}) {
			t.Errorf("%s asked %q, %v; want %s", c.op, f.asked, err, c.want)
		}
	}
}

func TestOperationsThatAreNotServed(t *testing.T) {
	f, c := newFar(t, says(200, "{}"))
	of := func(app string) *hostedclient.Client {
		named := *c
		named.App = app
		return &named
	}
	for says, err := range map[string]error{
		"setScopeParents is not served by the hosted API: ask the application itself, without --org": c.Call(t.Context(), "setScopeParents", nil, nil),
		"check is not served by the hosted API: ask the application itself, without --org":           of("docs").Call(t.Context(), "check", nil, nil),
		"name the application whose resources they are with --app":                                   c.Call(t.Context(), "resolveAncestors", nil, nil),
		"this is about the whole org, not about docs: leave --app out":                               of("docs").Call(t.Context(), "listRoles", nil, nil),
	} {
		var misuse *hostedclient.UsageError
		if !errors.As(err, &misuse) || err.Error() != says {
			t.Errorf("want %q: %v", says, err)
		}
	}
	if len(f.asked) > 0 {
		t.Errorf("asked %q", f.asked)
	}
}

// TestAnswersAreThoseOfTheOperation: a page tells where the next begins, what an
// operation answers whole is gathered, and what has another shape gets its own.
func TestAnswersAreThoseOfTheOperation(t *testing.T) {
	for _, c := range []struct {
		op, want string
		pages    [2]string // the second is answered to a cursor
	}{
		{"listRoles", `{"next":"c","nextCursor":"c","roles":[{"id":"a"}]}`, [2]string{`{"roles":[{"id":"a"}],"nextCursor":"c"}`}},
		{"listRoles", `{"nextCursor":null,"roles":[]}`, [2]string{`{"roles":[],"nextCursor":null}`}},
		{"reviewAuditChain", `{"more":true,"next":"c","nextCursor":"c","ok":true}`, [2]string{`{"ok":true,"nextCursor":"c"}`}},
		{"reviewAuditChain", `{"more":false,"nextCursor":null,"ok":true}`, [2]string{`{"ok":true,"nextCursor":null}`}},
		{"getGroupMembers", `{"userIds":["a","b"]}`, [2]string{`{"userIds":["a"],"nextCursor":"c"}`, `{"userIds":["b"]}`}},
		{"getGroupMembers", `{"userIds":[]}`, [2]string{`{"userIds":[]}`}},
		{"listApproverQueue", `{"entries":[1,2]}`, [2]string{`{"entries":[1],"nextCursor":"c"}`, `{"entries":[2]}`}},
		{"getReportingEdges", `{"edges":{"a":"m","b":"m"}}`, [2]string{
			`{"edges":[{"userId":"a","managerUserId":"m"}],"nextCursor":"c"}`, `{"edges":[{"userId":"b","managerUserId":"m"}]}`}},
	} {
		_, client := newFar(t, func(w http.ResponseWriter, r *http.Request) {
			page := c.pages[0]
			if r.URL.Query().Get("cursor") == "c" {
				page = c.pages[1]
			}
			_, _ = io.WriteString(w, page)
		})
		var got json.RawMessage
		if err := client.Call(t.Context(), c.op, object{"groupId": "g"}, &got); err != nil || string(got) != c.want {
			t.Errorf("%s answered %s, %v; want %s", c.op, got, err, c.want)
		}
	}
	_, client := newFar(t, says(200, `{"namespaces":[{"document":{"leaves":[{"key":"a.b"}],"groups":[{"path":"a"}]}},{"document":null},{"document":{"leaves":[{"key":"c.d"}]}}]}`))
	var got struct {
		Published struct {
			Document struct {
				Leaves []struct{ Key string }
				Groups []struct{ Path string }
			}
		}
	}
	if err := client.Call(t.Context(), "getPublishedCatalog", nil, &got); err != nil || len(got.Published.Document.Leaves) != 2 || len(got.Published.Document.Groups) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	_, odd := newFar(t, says(200, `{"edges":[7],"namespaces":7,"roles":[]}`))
	for _, op := range []string{"getReportingEdges", "getPublishedCatalog"} {
		if err := odd.Call(t.Context(), op, nil, &got); err == nil {
			t.Errorf("%s took it", op)
		}
	}
	var wrong struct{ Roles int }
	if err := odd.Call(t.Context(), "listRoles", nil, &wrong); err == nil {
		t.Errorf("listRoles took it: %+v", wrong)
	}
}
