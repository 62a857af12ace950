package hosted

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service"
)

// testHost has one of everything. What a real host shows is tested where there is one:
// host.TestTheOperatorSeesTheHost.
type testHost struct{}

func (testHost) Plugins() []HostPlugin {
	return []HostPlugin{{Name: "main", Plugin: "memory", Version: "1", Kinds: []string{"storage"}, Needed: true, State: "running", Since: 1},
		{Name: "usage", Plugin: "prometheus", Version: "1", Kinds: []string{"metrics_sink"}, State: "restarting", Since: 3, Restarts: 2, LastFailure: &PluginFailure{"ended", 3}}}
}

func (testHost) Sinks() []HostSink {
	return []HostSink{{Name: "usage", Plugin: "prometheus", State: "restarting", Applications: []SinkApplication{
		{Application: "docs", Pending: 4, Windows: SinkOutcomes{Full: 2}, Checks: SinkOutcomes{Full: 9}, LastDropped: &SinkDrop{"full", 3}}}}}
}

func (testHost) Directories() []string { return []string{"guests", "staff"} }

func (testHost) Directory(_ context.Context, name string) HostDirectory {
	d := HostDirectory{Name: name, Application: "docs", Importer: "hr", State: "idle"}
	if name == "staff" {
		d.State, d.NextAt, d.Run = "running", new(int64(9)), &DirectoryRun{Phase: "reading", StartedAt: 5, Expected: new(int64(7))}
		d.Last = &DirectoryEnd{Result: "failed", Cause: new("late"), StartedAt: 1, EndedAt: 2}
	}
	return d
}

var hostPaths = []string{"/host/plugins", "/host/sinks", "/host/directories"}

// An owner of an org is a tenant, whatever they hold there, and so is the bootstrap
// user with another seat than an owner's. The session says of each what the gate does.
func TestOnlyTheBootstrapUserMaySeeTheHost(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_second","kind":"owner"}`).want(t, 201, "")
	w.grant("user:u_second")
	second := w.signInAs("u_second")
	second.call("GET", "/orgs/acme/me", "").want(t, 200, "")
	sees := func(c caller, may bool) {
		t.Helper()
		if got := c.call("GET", "/auth/session", "").want(t, 200, ""); got.at("mayReadHost") != may {
			t.Errorf("mayReadHost is %v, want %v", got.at("mayReadHost"), may)
		}
		for _, path := range hostPaths {
			if may {
				c.call("GET", path, "").want(t, 200, "")
			} else {
				c.call("GET", path, "").want(t, 403, "operator_required")
			}
		}
	}
	byOIDC := w.signInAs(testUser)
	sees(owner, true)
	sees(byOIDC, true)
	sees(second, false)
	sees(people["admin"].caller, false)
	sees(people["portal"].caller, false)
	for _, name := range []string{"owner's key", "admin's key", "granted service", "bare service", "publisher"} {
		for _, path := range hostPaths {
			people[name].call("GET", path, "").want(t, 403, "credential_not_allowed")
		}
	}
	// The seat is read at each request.
	for _, kind := range []string{"admin", "portal"} {
		second.call("PATCH", "/orgs/acme/seats/"+testUser, `{"kind":"`+kind+`"}`).want(t, 200, "")
		sees(owner, false)
		sees(byOIDC, false)
	}
	second.call("PATCH", "/orgs/acme/seats/"+testUser, `{"kind":"owner"}`).want(t, 200, "")
	sees(owner, true)
}

func TestASessionOfNoOrgSeesTheHostWhenItIsTheBootstrapUsers(t *testing.T) {
	w := newWorld(t)
	nowhere := w.signIn("")
	nowhere.call("GET", "/host/plugins", "").want(t, 200, "")
	if got := nowhere.call("GET", "/auth/session", ""); got.at("mayReadHost") != true {
		t.Errorf("%s", got.raw)
	}
	for name, o := range map[string]service.Bootstrap{"another's": {UserID: "u_other", Secret: testSecret}, "nobody's": {}} {
		w.core.Bootstrap = o
		nowhere.call("GET", "/host/plugins", "").want(t, 403, "operator_required")
		if got := nowhere.call("GET", "/auth/session", ""); got.at("mayReadHost") != false {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
}

func TestTheHostIsToldInPagesByName(t *testing.T) {
	w := newWorld(t)
	operator := w.signIn("")
	for path, want := range map[string][]string{"plugins": {"main", "usage"}, "sinks": {"usage"}, "directories": {"guests", "staff"}} {
		var got []string
		for cursor := ""; ; {
			r := operator.call("GET", "/host/"+path+"?limit=1"+cursor, "").want(t, 200, "")
			for _, row := range r.at(path).([]any) {
				got = append(got, fmt.Sprint(row.(map[string]any)["name"]))
			}
			next, more := r.at("nextCursor").(string)
			if !more {
				break
			}
			cursor = "&cursor=" + next
		}
		if diff := cmp.Diff(want, got); diff != "" || !slices.IsSorted(got) {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
