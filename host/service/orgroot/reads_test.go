package orgroot_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestUsersAreWhomTheRowsName(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	w.give(t, "user:a", "docs.admin.read")
	_, err := w.root.CreateGroup(ctx, a, groupInput("staff"))
	must(t, err)
	must(t, w.root.SetMembership(ctx, a, "b", []string{"staff"}, nil))
	must(t, w.root.SetManager(ctx, a, "c", "d", nil))
	must(t, w.root.SetActive(ctx, a, "b", false))
	yes := true
	for want, active := range map[string]*bool{"a b c d": nil, "a c d": &yes} {
		var ids []string
		for p := (orgroot.Page{Limit: 3}); ; {
			l, err := w.root.Users(ctx, a, orgroot.UserFilter{Active: active}, p)
			must(t, err)
			for _, u := range l.Rows {
				ids = append(ids, u.UserID)
			}
			if p.After = l.Next; p.After == "" {
				break
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	edges, err := w.root.ReportingEdges(ctx, a, orgroot.Page{Limit: 10})
	must(t, err)
	if len(edges.Rows) != 1 || edges.Rows[0] != (orgroot.Edge{UserID: "c", ManagerUserID: "d"}) {
		t.Errorf("%+v", edges)
	}
}

func TestTheLogIsExportedPageByPage(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		_, err := w.root.CreateGroup(ctx, a, groupInput(id))
		must(t, err)
	}
	action := "group.create"
	var targets []string
	for p := (orgroot.Page{Limit: 2}); ; {
		l, err := w.root.Audit(ctx, a, orgroot.AuditFilter{Action: &action, Export: true}, p)
		must(t, err)
		for _, e := range l.Rows {
			if e.Actor != "olga" {
				t.Errorf("%+v", e)
			}
			targets = append(targets, e.Target)
		}
		if p.After = l.Next; p.After == "" {
			break
		}
	}
	if len(targets) != 5 {
		t.Errorf("%v", targets)
	}
	recent, err := w.root.Audit(ctx, a, orgroot.AuditFilter{Action: &action}, orgroot.Page{Limit: 2})
	must(t, err)
	if len(recent.Rows) != 2 || recent.Next == "" {
		t.Errorf("%+v", recent)
	}
}

func TestExplainNamesTheRowsThatDecided(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	g := w.give(t, "user:olga", manage)
	explained, err := w.root.Explain(ctx, a, authz.UserPrincipal("olga"), manage, authz.Global)
	must(t, err)
	if !explained.Allowed || len(explained.MatchedGrants) != 1 || explained.MatchedGrants[0].ID != g.ID {
		t.Errorf("%+v", explained)
	}
	for _, key := range []string{"docs.nothing.read", "cloud.seats.reed", "authz_internal.nothing.read"} {
		if _, err := w.root.Explain(ctx, a, authz.UserPrincipal("olga"), key, authz.Global); said(t, err) != "UnknownPermissionError " {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Who is no root any more is on the way to another one (spec: hosted-api §10).
func TestARootThatSaysItIsNoneIsMoving(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ping") {
			_, _ = io.WriteString(rw, `{"api":1,"application":"docs","orgRoot":false,"hasEpoch":true,"auditOptIn":false}`)
			return
		}
		rw.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(rw, `{"error":{"name":"ProviderWriteRejectedError","code":"not_org_root","message":"m"}}`)
	})
	if _, err := w.root.CreateGroup(ctx, a, groupInput("g")); said(t, err) != "CloudError org_root_moving" {
		t.Error(err)
	}
}

// Rows that were not asked for, or not in order, would mislead who reads them.
func TestAListThatLiesIsRefused(t *testing.T) {
	const protocol = "ProviderTransportError application_protocol_error"
	for name, rows := range map[string]string{
		"out of order":      `{"id":"b","subject":"user:u","pattern":"*","scope":"*"},{"id":"a","subject":"user:u","pattern":"*","scope":"*"}`,
		"twice":             `{"id":"a","subject":"user:u","pattern":"*","scope":"*"},{"id":"a","subject":"user:u","pattern":"*","scope":"*"}`,
		"of another scope":  `{"id":"a","subject":"user:u","pattern":"*","scope":"docs.doc:1"}`,
		"without any scope": `{"id":"a","subject":"user:u","pattern":"*"}`,
	} {
		w := newWorld(t)
		a := w.by(t, "olga")
		w.answer(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"grants":[`+rows+`]}`) })
		if _, err := w.root.Grants(ctx, a, grantQuery(), orgroot.Page{Limit: 10}); said(t, err) != protocol {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The closure that a root supplies leaves expired rows out; a denial names them all the same.
func TestExplainNamesTheGrantThatExpired(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	g, err := w.docs.CreateGrant(ctx, provider.GrantInput{Subject: "user:eve", Pattern: "authz_internal.access.read",
		ExpiresAt: authz.ExpiresAt(time.Now().Add(500 * time.Millisecond).UnixMilli())}, authz.AdminProvenance("root"))
	must(t, err)
	for {
		e, err := w.root.Explain(ctx, a, authz.UserPrincipal("eve"), "authz_internal.access.read", authz.Global)
		must(t, err)
		if e.Allowed {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if len(e.Expired) != 1 || e.Expired[0].ID != g.ID {
			t.Errorf("%+v", e)
		}
		return
	}
}
