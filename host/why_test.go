package host_test

import (
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/provider"
)

// A world in which each reason is somebody's, asked over HTTP.
func TestACheckTellsItsReason(t *testing.T) {
	var clock testClock
	c := caller(openHosted(t, configure(t, ""), &clock).Host)
	grant := func(subject, pattern, scope string, more object) {
		t.Helper()
		in := object{"subject": subject, "pattern": pattern, "provenance": root}
		if scope != "" {
			in["scope"] = scope
		}
		for k, v := range more {
			in[k] = v
		}
		call(t, c, "createGrant", object{"input": in})
	}
	grant("user:ann", "docs.files.read", "", nil)
	grant("user:here", "docs.files.read", "docs.folder:1", nil)
	grant("user:rex", "docs.files.read", "", nil)
	call(t, c, "createRevoke", object{"input": object{"userId": "rex", "pattern": "docs.files.read", "provenance": root}})
	grant("user:ina", "docs.files.read", "", nil)
	call(t, c, "setUserActive", object{"userId": "ina", "active": false, "provenance": root})
	grant("user:eve", "docs.files.read", "", object{"expiresAt": clock.now() + time.Hour.Milliseconds()})
	clock.pass(2 * time.Hour)
	for _, q := range []struct {
		user, scope string
		allowed     bool
		reason      provider.Reason
	}{
		{"ann", "", true, provider.ReasonGranted},
		{"here", "docs.folder:1", true, provider.ReasonGranted},
		{"here", "docs.folder:2", false, provider.ReasonElsewhere},
		{"rex", "", false, provider.ReasonRevoked},
		{"ina", "", false, provider.ReasonInactive},
		{"eve", "", false, provider.ReasonExpired},
		{"zoe", "", false, provider.ReasonNoGrant},
	} {
		params := object{"principal": object{"userId": q.user}, "key": "docs.files.read", "reason": true}
		if q.scope != "" {
			params["scope"] = q.scope
		}
		got := call(t, c, "check", params)
		if got["allowed"] != q.allowed || got["reason"] != string(q.reason) {
			t.Errorf("%s at %q: %v, want %v %s", q.user, q.scope, got, q.allowed, q.reason)
		}
		delete(params, "reason")
		if got := call(t, c, "check", params); got["allowed"] != q.allowed || got["reason"] != nil {
			t.Errorf("without a reason: %v", got)
		}
	}
	// Each member of a batch asks for itself; of several keys the first that allows tells.
	got := call(t, c, "check", object{"checks": []object{
		{"principal": object{"userId": "ann"}, "key": []string{"docs.files.edit", "docs.files.read"}, "reason": true},
		{"principal": object{"userId": "zoe"}, "key": "docs.files.read"}}})
	results := got["results"].([]any)
	if results[0].(object)["reason"] != "granted" || results[1].(object)["reason"] != nil {
		t.Errorf("%v", results)
	}
}
