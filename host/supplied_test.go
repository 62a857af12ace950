package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// embed opens a host to whose application a program gives what no file can.
func embed(t *testing.T, ancestry string, given host.ApplicationOptions) (*host.Host, error) {
	t.Helper()
	cfg := configure(t, "")
	docs := cfg.Applications["docs"]
	docs.Ancestry.Kind = ancestry
	cfg.Applications["docs"] = docs
	write(t, docs.Catalog, strings.Replace(testCatalog, "permissions:", "permissions:\n  docs.files.delete: true\n  docs.files.approve: {requiresCondition: true}\n  docs.files.purge: {requiresCondition: true}", 1))
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Applications: map[string]host.ApplicationOptions{"docs": given}})
	if err == nil {
		t.Cleanup(func() { closeHost(t, h) })
	}
	return h, err
}

// attributed counts the checks that it hears of, and those of which it is told the rows.
type attributed struct{ heard, withRows, anyOf atomic.Int64 }

func (*attributed) NonBlocking() {}

func (o *attributed) Observe(seen metrics.CheckObservation) error {
	o.heard.Add(1)
	if len(seen.MatchedGrantIDs) > 0 {
		o.withRows.Add(1)
	}
	if seen.AnyOf {
		o.anyOf.Add(1)
	}
	return nil
}

func TestAProgramGivesAncestryConditionsAndObservers(t *testing.T) {
	var seen attributed
	asked, times := "", 0
	h, err := embed(t, config.AncestryNone, host.ApplicationOptions{
		Ancestry: application.FromParents(func(_ context.Context, scope string) ([]string, error) {
			if scope == "docs.doc:1" {
				return []string{"docs.folder:9"}, nil
			}
			return nil, nil
		}),
		Conditions: map[string]host.Condition{"docs.files.approve": func(_ context.Context, p authz.Principal, scope string) (bool, error) {
			asked, times = p.UserID+" "+scope, times+1
			if p.UserID == "broken" {
				return true, errors.New("the ledger does not answer")
			}
			return p.UserID == "ann", nil
		}},
		Observers: []metrics.Observer{&seen},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := caller(h)
	for _, who := range []string{"ann", "bob", "broken"} {
		for _, pattern := range []string{"docs.files.approve", "docs.files.read"} {
			call(t, c, "createGrant", object{"input": object{"subject": "user:" + who, "pattern": pattern, "scope": "docs.folder:9", "provenance": object{"kind": "admin", "actorUserId": "root"}}})
		}
	}
	check := func(who string, key any) (allowed bool, err error) {
		var answer struct{ Allowed bool }
		err = c.Call(t.Context(), "check", object{"principal": object{"userId": who}, "key": key, "scope": "docs.doc:1"}, &answer)
		return answer.Allowed, err
	}
	grantEverywhere := object{"subject": "user:cat", "pattern": "docs.files.approve", "provenance": object{"kind": "admin", "actorUserId": "root"}}
	call(t, c, "createGrant", object{"input": grantEverywhere})
	for who, want := range map[string]bool{"ann": true, "bob": false, "nobody": false} {
		if allowed, err := check(who, "docs.files.approve"); err != nil || allowed != want {
			t.Errorf("%s: %v %v", who, allowed, err)
		}
	}
	if allowed, err := check("ann", "docs.files.approve"); err != nil || !allowed || asked != "ann docs.doc:1" {
		t.Errorf("%v %v, asked about %q", allowed, err, asked)
	}
	if allowed, err := check("broken", "docs.files.approve"); err == nil || allowed {
		t.Errorf("a condition that fails: %v %v", allowed, err)
	}
	for _, c := range []struct {
		who  string
		keys []string
		want bool
	}{
		{"bob", []string{"docs.files.approve", "docs.files.read"}, true}, // by the key without a condition
		{"ann", []string{"docs.files.delete", "docs.files.approve"}, true},
		{"bob", []string{"docs.files.delete", "docs.files.approve"}, false},
		{"nobody", []string{"docs.files.read", "docs.files.approve"}, false},
	} {
		before, listed := seen.heard.Load(), seen.anyOf.Load()
		if allowed, err := check(c.who, c.keys); err != nil || allowed != c.want {
			t.Errorf("%v: %v %v", c, allowed, err)
		}
		if n := seen.heard.Load() - before; n != 1 || seen.anyOf.Load() != listed+1 {
			t.Errorf("%v was observed %d times, as a list %d times", c, n, seen.anyOf.Load()-listed)
		}
	}
	times = 0
	if allowed, err := check("bob", slices.Repeat([]string{"docs.files.approve"}, 50)); err != nil || allowed || times != 1 {
		t.Errorf("the same key fifty times: %v %v, its condition asked %d times", allowed, err, times)
	}
	docs, _ := h.Application("docs")
	if _, err := docs.Check(t.Context(), authz.UserPrincipal("cat"), []string{"docs.files.approve"}, "", false); err != nil || asked != "cat *" {
		t.Errorf("%v, asked about %q", err, asked)
	}
	var missing *authz.MissingConditionError
	if _, err := check("ann", []string{"docs.files.approve", "docs.files.purge"}); !errors.As(err, &missing) || missing.Permission != "docs.files.purge" {
		t.Errorf("one of two conditions was given: %v", err)
	}
	var unknown *authz.UnknownPermissionError
	if _, err := check("bob", []string{"docs.files.read", "docs.files.approve", "docs.files.raed"}); !errors.As(err, &unknown) {
		t.Errorf("a mistyped key beside one that allows: %v", err)
	}
	if seen.withRows.Load() == 0 {
		t.Error("the observer heard of no check with its rows")
	}
}

func TestWithoutAConditionACheckOverHTTPIsAMistake(t *testing.T) {
	h, err := embed(t, config.AncestryNone, host.ApplicationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var missing *authz.MissingConditionError
	err = caller(h).Call(t.Context(), "check", object{"principal": object{"userId": "ann"}, "key": "docs.files.approve"}, nil)
	if !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
}

func TestWhatAProgramGivesInVainIsRefused(t *testing.T) {
	always := func(context.Context, authz.Principal, string) (bool, error) { return true, nil }
	for says, c := range map[string]struct {
		ancestry string
		given    host.ApplicationOptions
	}{
		"set it to none, or give no ancestry":                                    {config.AncestryStored, host.ApplicationOptions{Ancestry: application.FromParents(nil)}},
		"docs.files.approve":                                                     {config.AncestryNone, host.ApplicationOptions{Conditions: map[string]host.Condition{"docs.files.aprove": always}}},
		"does not declare requiresCondition":                                     {config.AncestryNone, host.ApplicationOptions{Conditions: map[string]host.Condition{"docs.files.read": always}}},
		"the condition of \"docs.files.approve\" in Options.Applications is nil": {config.AncestryNone, host.ApplicationOptions{Conditions: map[string]host.Condition{"docs.files.approve": nil}}},
	} {
		if _, err := embed(t, c.ancestry, c.given); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	_, err := host.Open(t.Context(), configure(t, ""), host.Options{Applications: map[string]host.ApplicationOptions{"dosc": {}}})
	if err == nil || !strings.Contains(err.Error(), "did you mean docs?") {
		t.Errorf("got %v", err)
	}
}
