package host_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/authz"
)

// withConditions is a host whose application has a file of conditions.
func withConditions(t *testing.T, file string) (*host.Host, error) {
	t.Helper()
	path := configFile(t, "")
	dir := filepath.Dir(path)
	write(t, filepath.Join(dir, "docs.yaml"), strings.Replace(testCatalog, "permissions:", "permissions:\n  docs.files.delete: true\n  docs.files.approve: {requiresCondition: true}\n  docs.files.purge: {requiresCondition: true}\n  docs.files.burn: {requiresCondition: true}", 1))
	write(t, filepath.Join(dir, "conditions.yaml"), file)
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	docs := cfg.Applications["docs"]
	docs.Conditions = filepath.Join(dir, "conditions.yaml")
	cfg.Applications["docs"] = docs
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test"})
	if err == nil {
		t.Cleanup(func() { closeHost(t, h) })
	}
	return h, err
}

const someConditions = `
context: {amount: int, region: string}
conditions:
  docs.files.approve: context.amount <= 1000 && principal.userId != "mallory"
  docs.files.purge: context.region == "eu"
`

// A check over the network is judged by rows and by the condition of its key.
func TestAConditionIsAskedOverTheNetwork(t *testing.T) {
	h, err := withConditions(t, someConditions)
	if err != nil {
		t.Fatal(err)
	}
	c := caller(h)
	for _, user := range []string{"ann", "mallory"} {
		call(t, c, "createGrant", object{"input": object{"subject": "user:" + user, "pattern": "docs.files.*", "provenance": root}})
	}
	ask := func(user string, key any, sent object) (string, error) {
		params := object{"principal": object{"userId": user}, "key": key, "reason": true}
		if sent != nil {
			params["context"] = sent
		}
		var got struct {
			Allowed bool
			Reason  string
		}
		err := c.Call(t.Context(), "check", params, &got)
		return fmt.Sprint(got.Allowed, " ", got.Reason), err
	}
	for _, q := range []struct {
		user string
		key  any
		sent object
		want string
	}{
		{"ann", "docs.files.approve", object{"amount": 5}, "true granted"},
		{"ann", "docs.files.approve", object{"amount": 5000}, "false condition"},
		{"mallory", "docs.files.approve", object{"amount": 5}, "false condition"},
		{"zoe", "docs.files.approve", object{"amount": 5}, "false no_grant"},
		{"zoe", "docs.files.approve", nil, "false no_grant"},
		{"ann", []string{"docs.files.approve", "docs.files.purge"}, object{"amount": 5000, "region": "eu"}, "true granted"},
		{"ann", []string{"docs.files.approve", "docs.files.purge"}, object{"amount": 5000, "region": "us"}, "false condition"},
		{"ann", "docs.files.delete", object{"amount": 5000}, "true granted"},
	} {
		if got, err := ask(q.user, q.key, q.sent); err != nil || got != q.want {
			t.Errorf("%s %v %v: %s, %v, want %s", q.user, q.key, q.sent, got, err, q.want)
		}
	}
	for _, q := range []struct {
		key  any
		sent object
		says string
	}{
		{"docs.files.approve", nil, "context.amount is missing"},
		{"docs.files.approve", object{"amount": "5"}, "context.amount must be an integer"},
		{"docs.files.approve", object{"amont": 5}, "context.amont is not declared"},
		{"docs.files.burn", object{"amount": 5}, "requiresCondition"},
	} {
		if got, err := ask("ann", q.key, q.sent); err == nil || !strings.Contains(err.Error(), q.says) {
			t.Errorf("%v %v: %s, %v, want %s", q.key, q.sent, got, err, q.says)
		}
	}
	batch := call(t, c, "check", object{"checks": []object{{"principal": object{"userId": "ann"}, "key": "docs.files.approve", "context": object{"amount": 5}},
		{"principal": object{"userId": "ann"}, "key": "docs.files.approve"}}})["results"].([]any)
	if batch[0].(object)["allowed"] != true || batch[1].(object)["error"] == nil {
		t.Errorf("a batch: %v", batch)
	}
	plain, _ := open(t, configure(t, ""))
	var got object
	err = caller(plain).Call(t.Context(), "check", object{"principal": object{"userId": "ann"}, "key": "docs.files.read", "context": object{"amount": 5}}, &got)
	if authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("a context where there are no conditions: %v, %v", got, err)
	}
}

func TestAFileOfConditionsIsHeldToTheCatalog(t *testing.T) {
	for file, says := range map[string]string{
		"conditions: {docs.files.read: 'true'}":                "does not declare the key requiresCondition",
		"conditions: {docs.files.aprove: 'true'}":              "docs.files.approve",
		"conditions: {docs.files.approve: 'context.x == 1'}":   "context.x is not declared",
		"conditions: {docs.files.approve: 'true'}\ncontxt: {}": "contxt",
	} {
		if _, err := withConditions(t, file); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", file, err, says)
		}
	}
}

// No condition and no context turns a denial by rows into an allow.
func TestAConditionOnlyNarrows(t *testing.T) {
	expressions := []string{"true", "false", "context.amount <= 1000", "context.amount / (context.amount - 1) > 1", "context.region == 'eu' || true", "principal.userId == 'a'", "context.region.matches('^(a|b)+$')"}
	for i, expression := range expressions {
		h, err := withConditions(t, fmt.Sprintf("context: {amount: int, region: string}\nconditions: {docs.files.approve: %q, docs.files.purge: \"true\"}\n", expression))
		if err != nil {
			t.Fatal(err)
		}
		c := caller(h)
		grants := map[string]bool{}
		rapid.Check(t, func(r *rapid.T) {
			user := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "user")
			key := rapid.SampledFrom([]string{"docs.files.approve", "docs.files.purge"}).Draw(r, "key")
			if rapid.IntRange(0, 9).Draw(r, "grant") == 0 && !grants[user+key] {
				grants[user+key] = true
				call(t, c, "createGrant", object{"input": object{"subject": "user:" + user, "pattern": key, "provenance": root}})
			}
			sent := object{}
			if rapid.Bool().Draw(r, "amount") {
				sent["amount"] = rapid.Int64().Draw(r, "of")
			}
			if rapid.Bool().Draw(r, "region") {
				sent["region"] = rapid.StringN(0, 5, 20).Draw(r, "named")
			}
			var got struct{ Allowed bool }
			err := c.Call(t.Context(), "check", object{"principal": object{"userId": user}, "key": []string{key}, "context": sent, "fresh": true}, &got)
			if got.Allowed && (err != nil || !grants[user+key]) {
				r.Fatalf("condition %d lets %s %s over %v, %v", i, user, key, sent, err)
			}
			if !grants[user+key] && err == nil && got.Allowed {
				r.Fatalf("%s has no %s", user, key)
			}
		})
	}
}
