package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service/federation"
)

// newFederation is a tenant with two applications of its host, both linked and published.
func newFederation(t *testing.T) *tenant {
	t.Helper()
	x := newTenantWith(t, func(text string) string {
		text = strings.Replace(text, "local: {acme: [docs]}", "local: {acme: [docs, mail]}", 1)
		return strings.Replace(text, "applications:\n", `applications:
  mail:
    catalog: mail.yaml
    storage: {driver: main, partition: mail}
    provider: {secret: "file:secret"}
`, 1)
	}, "mail.yaml", "namespaces: [mail]\npermissions: {mail.box.read: true}\n")
	x.logsIn()
	x.works("application", "register", "mail", "--namespace", "mail")
	for _, app := range []string{"docs", "mail"} {
		x.works("application", "link", app, "local:"+app)
		x.works("catalog", "publish", x.dir+"/"+app+".yaml", "--org", "acme", "--app", app)
	}
	return x
}

func TestAnOrganizationMovesToTheHostedServiceAndBack(t *testing.T) {
	x := newFederation(t)
	x.do("role", "create", "reader", "--name", "Reader", "--pattern", "docs.files.read", "--app", "docs")
	x.do("grant", "create", "user:ann", "--role", "reader", "--app", "docs")
	x.do("role", "create", "reader", "--name", "Mail reader", "--pattern", "mail.box.read", "--app", "mail")
	x.do("grant", "create", "user:bob", "--role", "reader", "--app", "mail")

	x.shows("docs brings 0 people, 0 groups, 1 roles, 2 global grants", "application", "federate", "docs", "--dry-run")
	x.shows("linked", "application", "show", "docs")
	x.failsWith("n\n", exitUsage, "Move the organization of docs", "application", "federate", "docs")
	x.shows("docs is federated: 0 people", "application", "federate", "docs", "--yes", "--watch")
	shown := x.works("application", "show", "docs")
	for _, want := range []string{"federated", "last sync"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	x.shows("federated", "org", "show")
	x.fails(exitFailure, "not the org root", "grant", "create", "user:eve", "--pattern", "docs.files.read", "--app", "docs", "--socket", x.socket)

	// A second one, with conflicts that a person reads, and settles in the file that is shown.
	plan := x.works("application", "federate", "mail", "--dry-run")
	for _, want := range []string{"role:reader: two roles have one id", "mail has", "rename_incoming", "newId", "widens:current:grant:", "accept", "A file for --resolutions begins like this:"} {
		if !strings.Contains(plan, want) {
			t.Errorf("no %q in\n%s", want, plan)
		}
	}
	x.fails(exitFailure, "settle each in a file", "application", "federate", "mail", "--yes")
	_, file, _ := strings.Cut(plan, "begins like this:\n")
	file = strings.Replace(file, `newId: ""`, `newId: "mail-reader"`, 1)
	file = strings.ReplaceAll(file, "{action: narrow}", "{action: accept}")
	decided := x.write("decided.yaml", file)
	x.shows("mail is federated", "application", "federate", "mail", "--resolutions", decided, "--yes")
	x.fails(exitFailure, "other applications are members", "application", "demote", "mail", "--yes")
	x.shows("applied", "application", "sync")
	x.works("grant", "create", "user:eve", "--role", "mail-reader", "--org", "acme")
	out := x.works("application", "sync", "-o", "json")
	var done struct{ Results []federation.Synced }
	if err := json.Unmarshal([]byte(out), &done); err != nil || len(done.Results) != 2 || !done.Results[0].Applied {
		t.Errorf("%v\n%s", err, out)
	}
	for user, key := range map[string]string{"eve": "mail.box.read", "bob": "mail.box.read", "ann": "docs.files.read"} {
		app, _, _ := strings.Cut(key, ".")
		if out, errs, code := x.say("", "check", "--user", user, key, "--app", app, "--socket", x.socket); code != 0 || !strings.Contains(out, "ALLOWED") {
			t.Errorf("%s may not %s: exit %d\n%s%s", user, key, code, out, errs)
		}
	}
}

func TestADemotionShowsWhatStays(t *testing.T) {
	x := newFederation(t)
	x.works("application", "federate", "docs", "--yes")
	x.works("grant", "create", "service:robot", "--pattern", "cloud.applications.read", "--org", "acme")
	x.shows("0 roles and 1 grants of cloud.* stay", "application", "demote", "docs", "--dry-run")
	x.shows("docs is the org root again", "application", "demote", "docs", "--yes")
	x.shows("linked", "org", "show")
	if out := x.works("application", "show", "docs", "-o", "json"); !regexp.MustCompile(`"state": ?"linked"`).MatchString(out) {
		t.Error(out)
	}
}
