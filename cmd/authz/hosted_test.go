package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const ownerProof = "the-secret-of-the-owner-in-the-test-0123"

// tenant is a console whose host serves the hosted API of the org acme: its owner
// boss holds a key, its root is the application docs of the same host.
type tenant struct {
	*console
	founder *founder
	key     string
	config  string
}

func newTenant(t *testing.T) *tenant {
	t.Helper()
	return newTenantWith(t, func(text string) string { return text })
}

// newTenantWith is newTenant with the host's configuration changed, and more files: names
// and texts.
func newTenantWith(t *testing.T, change func(string) string, files ...string) *tenant {
	t.Helper()
	s := newShell(t)
	for i := 0; i+1 < len(files); i += 2 {
		s.write(files[i], files[i+1])
	}
	s.write("owner.secret", ownerProof)
	hostKey := make([]byte, 32)
	_, _ = rand.Read(hostKey)
	s.write("host.key", base64.StdEncoding.EncodeToString(hostKey))
	path := s.serveFile(func(text string) string {
		return change(text + `
service:
  host_keys: ["file:host.key"]
  bootstrap: {user_id: boss, secret: "file:owner.secret"}
  local: {acme: [docs]}
`)
	})
	s.write("docs.yaml", docsCatalog)
	host := s.start("serve", "--config", path)
	eventually(t, "the host is ready", func() bool {
		select {
		case <-host.done:
			t.Fatalf("the host ended:\n%s", host.errs.String())
		default:
		}
		return listensAt.MatchString(host.errs.String())
	})
	base := "http://" + listensAt.FindStringSubmatch(host.errs.String())[1]
	c := &console{s, host, filepath.Join(s.dir, "run", "authz.sock"), base}
	x := &tenant{console: c, founder: &founder{base: base, origin: base}, config: filepath.Join(s.dir, "config")}
	t.Setenv("XDG_CONFIG_HOME", x.config)
	t.Setenv("AUTHZ_TOKEN_FILE", "")

	x.signIn("")
	x.founds(http.MethodPost, "/orgs", fields{"id": "acme", "name": "Acme", "ownerUserId": "boss"}, nil)
	x.signIn("acme")
	x.founds(http.MethodPost, "/orgs/acme/applications", fields{"id": "docs", "name": "Docs", "namespaces": []string{"docs"}}, nil)
	x.do("grant", "create", "user:boss", "--pattern", "authz_internal.*", "--app", "docs")
	var made keyResult
	x.founds(http.MethodPost, "/orgs/acme/api-keys", fields{"kind": "admin", "name": "laptop"}, &made)
	x.key = made.Secret
	return x
}

func (x *tenant) founds(method, path string, body, result any) {
	x.t.Helper()
	if err := x.founder.call(x.t.Context(), method, path, body, result); err != nil {
		x.t.Fatalf("%s %s: %v\n%s", method, path, err, x.host.errs.String())
	}
}

func (x *tenant) signIn(org string) {
	body := fields{"userId": "boss", "proof": fields{"kind": "bootstrap", "secret": ownerProof}}
	if org != "" {
		body["org"] = org
	}
	var in struct{ CSRFToken string }
	x.founder.cookie = nil
	x.founds(http.MethodPost, "/auth/sign-in", body, &in)
	x.founder.csrf = in.CSRFToken
}

// logsIn logs in with the owner's key.
func (x *tenant) logsIn() {
	x.t.Helper()
	if out, errs, code := x.say(x.key+"\n", "login", "--url", x.base, "--org", "acme"); code != 0 {
		x.t.Fatalf("login: exit %d\n%s%s", code, out, errs)
	}
}

// works runs a command that must succeed.
func (x *tenant) works(args ...string) (out string) {
	x.t.Helper()
	out, errs, code := x.say("", args...)
	if code != 0 {
		x.t.Fatalf("authz %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// fails runs a command that must fail, and say something.
func (x *tenant) fails(code int, says string, args ...string) {
	x.t.Helper()
	x.failsWith("", code, says, args...)
}

func (x *tenant) failsWith(in string, code int, says string, args ...string) {
	x.t.Helper()
	out, errs, got := x.say(in, args...)
	if got != code || !strings.Contains(errs, says) {
		x.t.Errorf("authz %s: exit %d, want %d and %q\n%s%s", strings.Join(args, " "), got, code, says, out, errs)
	}
}

// shows runs a command that must succeed and show something.
func (x *tenant) shows(what string, args ...string) string {
	x.t.Helper()
	out := x.works(args...)
	if !strings.Contains(out, what) {
		x.t.Errorf("authz %s shows no %q:\n%s", strings.Join(args, " "), what, out)
	}
	return out
}

func (x *tenant) credentials() string { return filepath.Join(x.config, "authz", "credentials") }

// TestLogin: a key is proved before it is kept, kept for its owner alone, and never
// shown again.
func TestLogin(t *testing.T) {
	x := newTenant(t)
	x.fails(exitUsage, "authz login --url URL --org ORG", "whoami")
	x.failsWith(x.key, exitUsage, "--url is required", "login", "--org", "acme")
	x.failsWith(x.key, exitUsage, "it is empty", "login", "--url", x.base, "--org", "")
	x.failsWith(x.key, exitUsage, "use https", "login", "--url", "http://authz.example", "--org", "acme")
	x.failsWith(x.key[:len(x.key)-1], exitUsage, "this is no key", "login", "--url", x.base, "--org", "acme")
	x.failsWith(x.key, exitFailure, "(org_not_found)", "login", "--url", x.base, "--org", "other")
	x.failsWith(x.key, exitUsage, "not as the hosted API does", "login", "--url", x.base+"/nowhere", "--org", "acme")
	if exists(x.credentials()) {
		t.Fatal("a login that failed was kept")
	}

	out, errs, code := x.say(x.key+"\n", "login", "--url", x.base+"/api/v1/", "--org", "acme")
	if code != 0 || out != "logged in to acme at "+x.base+" as boss, owner seat, active\n" {
		t.Fatalf("login: exit %d\n%s%s", code, out, errs)
	}
	for path, mode := range map[string]os.FileMode{x.credentials(): 0o600, filepath.Dir(x.credentials()): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	said := out + x.shows("owner seat, active", "whoami") + x.shows("cloud.seats.invite_seat", "whoami", "--org", "acme") + x.shows(x.base, "org", "list", "-o", "json")
	if strings.Contains(said, x.key) || strings.Contains(x.host.errs.String(), x.key) {
		t.Error("the key was shown")
	}
	x.fails(exitUsage, "you are not logged in to other", "grant", "list", "--org", "other")
	x.fails(exitUsage, "it is empty", "grant", "list", "--org", "")
	x.fails(exitUsage, "give one of them", "grant", "list", "--org", "acme", "--socket", x.socket)
	x.fails(exitUsage, "leave out --actor", "role", "create", "r", "--org", "acme", "--actor", "somebody")
	x.fails(exitUsage, "unknown flag: --org", "check", "--org", "acme", "--user", "u", "docs.files.read")

	// What others may have read is not used.
	if err := os.Chmod(x.credentials(), 0o640); err != nil {
		t.Fatal(err)
	}
	x.fails(exitUsage, "is open to others", "whoami")
	x.failsWith(x.key, exitUsage, "is open to others", "login", "--org", "acme")
	if err := os.Chmod(x.credentials(), 0o600); err != nil {
		t.Fatal(err)
	}

	// A token file is used in its place, and needs no login.
	token := x.write("token", x.key+"\n")
	t.Setenv("AUTHZ_TOKEN_FILE", token)
	t.Setenv("XDG_CONFIG_HOME", x.dir+"/empty")
	x.fails(exitUsage, "--url and --org must say where", "whoami")
	x.shows("boss", "whoami", "--url", x.base, "--org", "acme")
	t.Setenv("AUTHZ_TOKEN_FILE", "")
	x.shows("boss", "whoami", "--url", x.base, "--org", "acme", "--token-file", token)
	x.fails(exitUsage, "no such file", "whoami", "--url", x.base, "--org", "acme", "--token-file", x.dir+"/none")
	t.Setenv("XDG_CONFIG_HOME", x.config)

	// A rotated key is renewed in the login; a forgotten one works on, a revoked one
	// does not.
	id := regexp.MustCompile(`admin_key (\S+)`).FindStringSubmatch(x.works("whoami"))[1]
	x.works("key", "rotate", id, "--overlap", "0s", "--save", x.dir+"/renewed")
	renewed, err := os.ReadFile(x.dir + "/renewed")
	if info, _ := os.Stat(x.dir + "/renewed"); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	x.fails(exitFailure, "(credential_invalid)", "whoami", "--token-file", token)
	x.shows("boss", "whoami")
	x.shows("works until it is revoked", "logout")
	x.fails(exitUsage, "you are not logged in", "whoami")
	x.key = strings.TrimSpace(string(renewed))
	x.logsIn()
	x.works("key", "revoke", id)
	x.fails(exitFailure, "Run 'authz login'", "whoami")
	x.works("logout", "--all")
	if text, err := os.ReadFile(x.credentials()); err != nil || strings.Contains(string(text), x.key) {
		t.Errorf("%s holds %s, %v", x.credentials(), text, err)
	}
}

// TestTheAccountOverTheHostedAPI: seats, keys, applications and caps.
func TestTheAccountOverTheHostedAPI(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	x.shows("Acme", "org", "show")
	x.shows("Acme Ltd", "org", "update", "--name", "Acme Ltd")

	x.shows("u_17 has a seat of kind admin, invited", "seat", "invite", "u_17", "--kind", "admin", "--email", "ada@example.com")
	x.fails(exitFailure, "(seat_exists)", "seat", "invite", "u_17")
	x.shows("ada@example.com", "seat", "list", "--kind", "admin")
	x.shows("kind portal", "seat", "update", "u_17", "--kind", "portal")
	x.works("seat", "sign-out", "u_17")
	x.fails(exitFailure, "Make another owner who can act first", "seat", "update", "boss", "--kind", "admin")
	x.failsWith("n\n", exitUsage, "Remove the seat of u_17", "seat", "remove", "u_17")
	x.works("seat", "remove", "u_17", "--yes")
	x.shows(`"state":"removed"`, "seat", "list", "--state", "removed", "-o", "json")
	x.fails(exitUsage, "argument 1 is empty", "seat", "remove", "", "--yes")
	x.fails(exitUsage, "must not be empty", "seat", "remove", "..", "--yes")

	secret, errs, code := x.say("", "key", "create", "ci", "--service", "ci", "--expires", "30d")
	if code != 0 || !strings.HasPrefix(secret, "authz_prn_") || strings.Count(secret, "\n") != 1 || strings.Contains(errs, strings.TrimSpace(secret)) || !strings.Contains(errs, "acts as service:ci") {
		t.Fatalf("key create: exit %d\n%s%s", code, secret, errs)
	}
	if out := x.shows("service:ci", "key", "list", "--revoked=false"); strings.Contains(out, strings.TrimSpace(secret)) {
		t.Error("a listing holds a secret")
	}
	x.failsWith(secret, exitUsage, "this is no admin key", "login", "--url", x.base, "--org", "acme")
	x.fails(exitUsage, "either of a --service or of a --namespace", "key", "create", "k", "--service", "a", "--namespace", "docs")
	x.fails(exitUsage, "file exists", "key", "create", "k", "--service", "a", "--save", x.dir+"/docs.yaml")
	x.fails(exitFailure, "(namespace_not_found)", "key", "create", "k", "--namespace", "none", "--save", x.dir+"/k")
	if exists(x.dir + "/k") {
		t.Error("a key that was not made left a file")
	}
	ci := x.write("ci", secret)
	x.fails(exitFailure, "(credential_not_allowed)", "org", "show", "--token-file", ci)
	x.fails(exitFailure, "'authz whoami' shows what you may do", "seat", "list", "--token-file", ci)

	x.shows("registered", "application", "show", "docs")
	x.fails(exitFailure, "'authz application link APP URL' links one", "role", "list", "--org", "acme")
	x.fails(exitFailure, "service.relay", "application", "link", "docs", "https://127.0.0.1:1/")
	out, errs, code := x.say("", "application", "link", "docs", "local:docs")
	if code != 0 || out != "" || !strings.Contains(errs, "docs is linked at local:docs") {
		t.Fatalf("link: exit %d\n%s%s", code, out, errs)
	}
	x.shows("docs is healthy", "application", "probe", "docs", "--exit-code")
	x.shows("bills, invoices", "application", "register", "bills", "--namespace", "bills", "--namespace", "invoices")
	x.fails(exitFailure, "(namespace_taken)", "application", "register", "other", "--namespace", "bills")
	x.fails(exitFailure, "(not_linked)", "application", "probe", "bills")
	if out := x.shows("docs", "application", "list", "--state", "linked"); strings.Contains(out, "bills") {
		t.Errorf("the filter is not heeded:\n%s", out)
	}
	x.works("application", "delete", "bills", "--yes")
	x.fails(exitFailure, "'authz application list' shows", "application", "show", "bills")

	x.shows("linked_applications", "billing", "usage")
	x.shows("reached", "billing", "cap", "linked_applications", "1")
	x.works("application", "register", "bills", "--namespace", "bills")
	x.shows("under", "billing", "cap", "linked_applications", "--none")
	x.fails(exitFailure, "'authz billing usage' shows", "billing", "cap", "none", "1")
	x.fails(exitUsage, "N and --none", "billing", "cap", "admin_seats")
	x.fails(exitUsage, "whole number", "billing", "cap", "admin_seats", "many")
	x.shows("billing.set_cap", "org", "audit", "--limit", "5")
	if out := x.works("org", "audit", "--action", "seat.invite"); !strings.Contains(out, "u_17") || strings.Contains(out, "billing.set_cap") {
		t.Errorf("the account log:\n%s", out)
	}
	x.works("application", "unlink", "docs", "--yes")
	x.shows("registered", "application", "show", "docs")
}

// TestAccessOverTheHostedAPI: the commands on groups, roles, people, rows and
// requests do over the hosted API what they do over the socket.
func TestAccessOverTheHostedAPI(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	x.works("application", "link", "docs", "local:docs")
	org := func(args ...string) []string { return append(args, "--org", "acme") }

	x.fails(exitFailure, "published its catalog", org("explain", "--user", "u_1", "docs.files.read")...)
	x.works(org("role", "create", "editor", "--name", "Editor", "--pattern", "docs.files.*")...)
	x.works(org("role", "update", "editor", "--description", "edits")...)
	x.works(org("group", "create", "staff")...)
	x.works(org("group", "create", "writers", "--parent", "staff")...)
	x.works(org("group", "update", "writers", "--name", "Writers")...)
	x.shows("staff", org("group", "parents", "writers")...)
	x.fails(exitFailure, "cycle", org("group", "parents", "staff", "writers")...)
	x.works(org("user", "groups", "u_1", "--add", "writers")...)
	x.shows("u_1", org("group", "members", "writers")...)
	x.shows("boss", org("user", "manager", "u_1", "boss")...)

	x.works(org("grant", "create", "group:staff", "--role", "editor")...)
	x.works(org("grant", "create", "user:u_2", "--pattern", "docs.files.read", "docs.folder:f_1", "--expires", "30d")...)
	many := x.write("grants.yaml", "grants:\n  - {subject: \"user:u_3\", role: editor}\n  - {subject: \"user:u_4\", pattern: docs.bills.read}\n")
	x.shows("2 grants made", org("grant", "create", "-f", many)...)
	x.shows("group:staff", org("grant", "list", "--role", "editor")...)
	if out := x.works(org("grant", "list")...); strings.Contains(out, "u_2") {
		t.Errorf("rows at a resource are among the global ones:\n%s", out)
	}
	if out := x.shows("u_2", org("grant", "list", "--app", "docs")...); strings.Contains(out, "u_3") {
		t.Errorf("global rows are among those of docs:\n%s", out)
	}
	x.shows("grants       2", org("role", "show", "editor")...)
	x.shows("docs.files.* at docs.folder:f_2", org("grant", "create", "user:u_5", "--pattern", "docs.files.*", "docs.folder:f_2", "--app", "docs")...)
	x.fails(exitUsage, "leave --app out", org("role", "list", "--app", "docs")...)
	x.fails(exitUsage, "--app", org("scope", "parents", "docs.folder:f_2")...)

	x.do("catalog", "publish", x.dir+"/docs.yaml")
	// It is the same access, and the log names the key's user.
	if out := x.do("check", "--user", "u_1", "docs.files.read"); out != "ALLOWED\n" {
		t.Errorf("the application says %s", out)
	}
	x.shows("group:staff", org("explain", "--user", "u_1", "docs.files.read")...)
	x.shows("user:u_1", org("who-can", "docs.files.read")...)
	x.shows("docs.files.read", org("what-can", "u_1", "--member", "docs")...)
	x.shows("*", org("where-can", "u_1", "docs.files.read")...)
	x.shows("writers", org("user", "show", "u_1")...)
	x.works(org("revoke", "create", "u_1", "docs.files.*")...)
	x.shows("u_1", org("revoke", "list", "--user", "u_1")...)
	if out := x.do("check", "--user", "u_1", "docs.files.read"); out != "DENIED\n" {
		t.Errorf("the application says %s", out)
	}
	var listed struct{ Grants []authz.Grant }
	x.read(&listed, "grant", "list", "--scope", "docs.folder:f_2")
	if len(listed.Grants) != 1 || listed.Grants[0].Provenance.Actor() != "boss" {
		t.Fatalf("docs has %+v", listed.Grants)
	}
	x.shows("expires: 2999-01-01", org("grant", "expiry", listed.Grants[0].ID, "--expires", "2999-01-01", "--app", "docs")...)
	x.shows(listed.Grants[0].ID, org("grant", "list", "--app", "docs", "--by", "boss", "--order", "expiry", "--expires-from", "1d")...)
	x.shows("[]", org("grant", "list", "--app", "docs", "--by", "nobody", "-o", "json")...)
	x.works(org("grant", "delete", listed.Grants[0].ID, "--app", "docs")...)
	x.shows("boss", org("audit", "list", "--action", "role.create")...)
	x.shows("revoke.create", org("audit", "list", "--user", "u_1")...)
	x.shows("grant.delete", org("audit", "list", "--app", "docs", "--limit", "1000")...)
	x.fails(exitUsage, "from 1 to 1000", org("audit", "list", "--limit", "1001")...)
	x.fails(exitFailure, "docs.files.read", org("explain", "--user", "u_1", "docs.files.raed")...)
	x.fails(exitFailure, `Did you mean "docs.folder"?`, org("explain", "--user", "u_1", "docs.files.read", "docs.foldr:1")...)

	// Requests are the caller's own, or what they may decide.
	x.works(org("role", "create", "approver")...)
	x.fails(exitUsage, "leave out --as", org("request", "queue", "--as", "boss")...)
	x.fails(exitUsage, "--as is required", "request", "queue", "--socket", x.socket)
	x.works(org("request", "submit", "--pattern", "docs.files.read", "docs.folder:f_9")...)
	var entries struct{ Entries []requestEntry }
	if err := json.Unmarshal([]byte(x.works(org("request", "list", "-o", "json")...)), &entries); err != nil || len(entries.Entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	asked := entries.Entries[0].Request.ID
	at := func(args ...string) []string {
		if entries.Entries[0].Application != nil {
			args = append(args, "--app", *entries.Entries[0].Application)
		}
		return org(args...)
	}
	x.shows("pending", at("request", "show", asked)...)
	x.fails(exitFailure, "", at("request", "approve", asked)...) // nobody decides their own
	x.shows("cancelled", at("request", "cancel", asked)...)
	x.do("request", "submit", "--as", "u_6", "--pattern", "docs.files.read", "docs.folder:f_9")
	x.works(org("grant", "create", "user:boss", "--role", "approver")...)
	queue := x.shows("u_6", org("request", "queue", "-o", "json")...)
	if err := json.Unmarshal([]byte(queue), &entries); err != nil || len(entries.Entries) != 1 {
		t.Fatalf("%s, %v", queue, err)
	}
	x.shows("approved", at("request", "approve", entries.Entries[0].Request.ID, "--note", "as agreed")...)

	// Account rows take the same commands.
	x.shows("cloud.billing.read", org("grant", "create", "service:ci", "--pattern", "cloud.billing.read")...)
	ci := x.write("ci", x.works("key", "create", "ci", "--service", "ci"))
	x.shows("admin_seats", "billing", "usage", "--token-file", ci)

	// What takes along asks first.
	x.failsWith("n\n", exitUsage, "0 direct members and 1 grants", org("group", "delete", "staff")...)
	x.works(org("group", "dissolve", "writers", "--yes")...)
	x.works(org("group", "delete", "staff", "--yes")...)
	x.works(org("user", "deactivate", "u_4")...)
	x.works(org("user", "activate", "u_4")...)
	x.shows("with 1 grants", org("user", "delete", "u_4", "--yes")...)
	x.shows("deleted", org("scope", "delete", "docs.folder:f_1", "--yes")...)
	x.fails(exitFailure, "(conflict)", org("role", "delete", "editor")...)
	x.works(org("role", "create", "idle")...)
	x.works(org("role", "delete", "idle")...)

	var document json.RawMessage
	x.read(&struct{ Document *json.RawMessage }{&document}, "catalog", "show")
	x.founds(http.MethodPost, "/orgs/acme/applications/docs/publish", fields{"document": document}, nil)
	t.Run("the tab key asks the org", func(t *testing.T) { x.completes(t) })
}

func (x *tenant) completes(t *testing.T) {
	for args, want := range map[string]string{
		"role show --org acme ":                  "editor\tEditor",
		"grant create --org acme --role ":        "approver",
		"grant list --org acme --app ":           "docs\tDocs",
		"grant list --org ":                      "acme\t" + x.base,
		"user show --org acme ":                  "u_1",
		"application show ":                      "docs\tDocs",
		"seat update ":                           "boss\towner",
		"key revoke ":                            "admin laptop",
		"billing cap ":                           "admin_seats",
		"seat list --kind ":                      "owner",
		"org audit --by ":                        "boss",
		"revoke create --org acme u_1 docs.bi":   "docs.bills.approve",
		"request approve --org other --url x a ": "",
	} {
		words := strings.Split(args, " ")
		out, errs, code := x.tab(words...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s offers, exit %d:\n%s%s", args, code, out, errs)
		}
	}
}

// TestHostedListsAreWhole: pages follow their cursors, and what is missing is said.
func TestHostedListsAreWhole(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	x.works("application", "link", "docs", "local:docs")
	var declared strings.Builder
	declared.WriteString("grants:\n")
	for n := range 990 {
		declared.WriteString("  - {subject: \"user:n" + strings.Repeat("x", n%7) + time.Duration(n).String() + "\", pattern: docs.bills.read}\n")
	}
	for range 2 {
		x.works("grant", "create", "--org", "acme", "-f", x.write("many.yaml", declared.String()))
	}
	out := x.works("grant", "list", "--org", "acme")
	if n := strings.Count(out, "docs.bills.read"); n != 2*990 {
		t.Errorf("%d of %d grants are listed", n, 2*990)
	}
	if n := strings.Count(x.works("grant", "list", "--org", "acme", "--limit", "3"), "\n"); n != 4 {
		t.Errorf("%d lines for 3 grants", n)
	}

	// Of a person everything is found, behind however many entries: these are one for each
	// grant of the group.
	x.works("user", "deactivate", "early", "--org", "acme")
	x.works("group", "create", "many", "--name", "Many", "--org", "acme")
	for part := range 2 {
		declared.Reset()
		declared.WriteString("grants:\n")
		for n := range 600 {
			fmt.Fprintf(&declared, "  - {subject: 'group:many', pattern: docs.files.delete, scope: 'docs.folder:%d-%d'}\n", part, n)
		}
		x.works("grant", "create", "--org", "acme", "-f", x.write("group.yaml", declared.String()))
	}
	x.works("group", "delete", "many", "--yes", "--org", "acme")
	x.shows("user.set_active", "audit", "list", "--org", "acme", "--user", "early")
}

// TestHostedErrorsSayWhatNext: whatever a far side answers is told safely.
func TestHostedErrorsSayWhatNext(t *testing.T) {
	for _, c := range []struct{ body, says, next string }{
		{`{"error":{"name":"RateLimitedError","code":"rate_limited","message":"too many","retryAfterMs":2500}}`, "too many (rate_limited)", "Wait 2.5s"},
		{`{"error":{"name":"ProviderTransportError","code":"application_timeout","message":"late","application":"docs","outcome":"unknown"}}`, "late", "look before you repeat it"},
		{`{"error":{"name":"ProviderTransportError","code":"application_timeout","message":"late","application":"docs","outcome":"unknown","operation":{"kind":"demote","step":"flip"}}}`, "late", "The move goes on by itself: 'authz application show docs'"},
		{`{"error":{"name":"ProviderTransportError","code":"application_unreachable","message":"gone","application":"docs","outcome":"not_applied"}}`, "gone", "Nothing was changed"},
		{`{"error":{"name":"CloudError","code":"escalation_refused","message":"no","missing":[{"key":"cloud.seats.read","scope":"*"}]}}`, "missing: cloud.seats.read at *", "You cannot give rights"},
		{`{"error":{"name":"CloudError","code":"invalid_request","message":"a: bad","issues":[{"path":"a","message":"bad"},{"path":"b","message":"worse"}]}}`, "a: bad; b: worse (invalid_request)", ""},
		{`{"error":{"name":"CloudError","code":"last_owner","message":"\u001b[2Jwiped"}}`, `[2Jwiped`, "another owner who can act"},
		{`{"error":{"name":"ProviderWriteRejectedError","code":"graph_cycle","message":"cycle: a → a","path":["a","a"]}}`, "cycle: a → a", ""},
	} {
		err := refusedWith(t, 409, c.body)
		if !strings.Contains(err.Error(), c.says) || !strings.Contains(hint(err), c.next) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s is told as %q, then %q", c.body, err, hint(err))
		}
	}
	for code, fields := range map[string]string{
		"operation_in_progress": `"application":"docs"`, "org_root_moving": "", "authority_unknown": "", "authority_refused": "", "org_changed": "",
		"no_org_administrator": "", "catalog_not_published": `"namespaces":["docs"]`, "not_last_member": `"members":["docs"]`, "probe_failed": `"health":{}`,
		"snapshot_unsupported": "", "unresolved_conflicts": "", "stale_resolutions": "", "invalid_resolution": "",
		"invalid_transition": `"from":"linked","operation":"federate","primaryApplication":"docs"`,
	} {
		body := `{"error":{"name":"CloudError","code":"` + code + `","message":"m"`
		if fields != "" {
			body += "," + fields
		}
		err := refusedWith(t, 409, body+"}}")
		if advice := hint(err); len(advice) < 20 || strings.Contains(fields, "docs") && !strings.Contains(advice+err.Error(), "docs") {
			t.Errorf("%s: %v\n%s", code, err, advice)
		}
	}
	refusal := refusedWith(t, 409, `{"error":{"name":"ProviderWriteRejectedError","code":"conflict","message":"m"}}`)
	if authz.CodeOf(refusal) != authz.CodeConflict || exitCode(refusal) != exitFailure {
		t.Errorf("the class is lost: %v", refusal)
	}
	for _, body := range []string{"", "<html>", `{"error":"no"}`, "null"} {
		if err := refusedWith(t, 404, body); exitCode(err) != exitUsage {
			t.Errorf("%q is told as %v", body, err)
		}
	}
	for op := range map[string]bool{"setScopeParents": true, "check": true} {
		if err := newHosted("http://x", "acme", "", nil).Call(t.Context(), op, nil, nil); exitCode(err) != exitUsage {
			t.Errorf("%s: %v", op, err)
		}
	}
	if _, ok := provider.LookupOperation("setScopeParents"); !ok {
		t.Error("the operation has another name")
	}
}

// refusedWith is what a request ends with that is answered so.
func refusedWith(t *testing.T, status int, body string) error {
	t.Helper()
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer far.Close()
	return newHosted(far.URL, "acme", "", nil).Ask(t.Context(), http.MethodGet, nil, nil, nil, nil)
}

// TestTheRegistryPeopleAndRetentionOverTheHostedAPI: what pipelines and auditors do.
func TestTheRegistryPeopleAndRetentionOverTheHostedAPI(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	docs, key := filepath.Join(x.dir, "docs.yaml"), filepath.Join(x.dir, "publisher.key")
	x.works("application", "link", "docs", "local:docs")
	x.fails(exitUsage, "--app", "catalog", "publish", docs, "--org", "acme")
	x.shows("published as version 1 of docs", "catalog", "publish", docs, "--org", "acme", "--app", "docs")
	x.shows("nothing to do: version 1", "catalog", "publish", docs, "--org", "acme", "--app", "docs")
	x.works("key", "create", "ci", "--namespace", "docs", "--save", key)
	publisher := []string{"catalog", "publish", docs, "--org", "acme", "--url", x.base, "--token-file", key}
	x.shows("nothing to do: version 1", publisher...)
	x.fails(exitFailure, "version_conflict", append(publisher, "--expected-version", "7")...)
	x.fails(exitUsage, "--org", "catalog", "publish", docs, "--expected-version", "7")
	x.fails(exitUsage, "leave --app out", append(publisher, "--app", "docs")...)

	x.works("grant", "create", "user:u_1", "--pattern", "docs.*", "--org", "acme") // the root lists whom its rows name
	x.works("user", "deactivate", "u_1", "--org", "acme")
	x.shows("boss", "user", "list", "--org", "acme")
	if out := x.works("user", "list", "u_", "--org", "acme"); !strings.Contains(out, "u_1") || strings.Contains(out, "boss") {
		t.Errorf("those whose id begins with u_:\n%s", out)
	}
	if out := x.works("user", "list", "--active", "false", "--org", "acme"); !strings.Contains(out, "u_1") || strings.Contains(out, "boss") {
		t.Errorf("the inactive ones:\n%s", out)
	}

	x.shows("docs", "registry", "list")
	x.shows("docs.files.read", "registry", "show", "docs")
	x.fails(exitFailure, "namespace_not_found", "registry", "show", "nowhere")
	var document struct{ Namespace string }
	if err := json.Unmarshal([]byte(x.works("registry", "document", "docs", "--version", "1")), &document); err != nil || document.Namespace != "docs" {
		t.Errorf("the document is of %q: %v", document.Namespace, err)
	}
	x.fails(exitFailure, "version_not_found", "registry", "document", "docs", "--version", "7")
	x.shows("everything that is named is published", "registry", "drift", "--exit-code")
	x.works("grant", "create", "user:u_2", "--pattern", "docs.files.delete", "--org", "acme")
	fewer := x.write("fewer.yaml", strings.Replace(docsCatalog, "  docs.files.delete: {scopes: [docs.folder]}\n", "", 1))
	x.shows("published as version 2 of docs", "catalog", "publish", fewer, "--org", "acme", "--app", "docs")
	x.shows("gone since version 2: docs.files.delete", "registry", "show", "docs")
	x.shows("docs.files.delete", "registry", "drift")
	x.fails(exitDenied, "", "registry", "drift", "--exit-code")

	x.fails(exitFailure, "retention_off", "retention", "ingest", "docs")
	x.shows("audit retention", "retention", "on", "docs")
	x.fails(exitFailure, "audit_stream_off", "retention", "ingest", "docs") // the application has not agreed
	x.works("retention", "list", "--application", "docs")
	x.works("retention", "off", "docs")
}

// TestApplyOverTheHostedAPI: what a file declares is made at the root and with the
// application, and once it is there nothing is left to do.
func TestApplyOverTheHostedAPI(t *testing.T) {
	x := newTenant(t)
	x.logsIn()
	x.works("application", "link", "docs", "local:docs")
	x.do("catalog", "publish", x.dir+"/docs.yaml")
	declared := `name: team
roles:
  - {id: editor, name: Editor, patterns: ["docs.files.*"]}
groups:
  - {id: writers, parents: [staff]}
  - {id: staff}
grants:
  - {subject: "user:u_1", pattern: docs.files.read, scope: "docs.folder:f_1"}
  - {subject: "group:writers", role: editor}
  - {subject: "user:u_2", pattern: cloud.applications.read}
  - {subject: "user:u_3", role: editor, scope: "docs.folder:f_1"}
`
	file := x.write("access.yaml", declared)
	apply := func(more ...string) []string {
		return append([]string{"apply", "-f", file, "--org", "acme"}, more...)
	}
	x.fails(exitDenied, "", apply("--dry-run", "--exit-code")...)
	x.shows("7 to create, 0 to update, 0 to delete", apply("--dry-run")...)
	x.shows("+ user:u_1 docs.files.read at docs.folder:f_1", apply("--dry-run", "--impact")...)
	x.shows("applied 7 changes", apply("--yes")...)
	x.shows("nothing to do", apply("--dry-run", "--exit-code")...)
	var listed struct{ Grants []authz.Grant }
	x.read(&listed, "grant", "list", "--scope", "docs.folder:f_1")
	if len(listed.Grants) != 2 || listed.Grants[0].Provenance.Actor() != "boss" {
		t.Errorf("docs has %+v", listed.Grants)
	}
	x.shows("cloud.applications.read", "grant", "list", "--org", "acme")
	x.shows("staff", "group", "list", "--org", "acme")

	x.write("access.yaml", strings.NewReplacer("docs.files.*", "docs.files.read", "[staff]", "[]", "u_2", "u_4").Replace(declared))
	x.shows("1 to create, 2 to update, 0 to delete", apply("--yes")...)
	x.shows("nothing to do", apply("--yes")...)
	x.shows("u_2", "grant", "list", "--org", "acme") // not ours to take away

	x.fails(exitUsage, "--prune does not go with --org", apply("--prune")...)
	x.fails(exitUsage, "leave --app out", apply("--app", "docs")...)
}

// TestRetainedEntriesAreExported: all of them, or an error that says after how many
// the stream was cut.
func TestRetainedEntriesAreExported(t *testing.T) {
	x := newTenantWith(t, func(text string) string {
		return strings.Replace(text, `provider: {secret: "file:secret"}`, `provider: {secret: "file:secret", audit_opt_in: true}`, 1)
	})
	x.logsIn()
	x.works("application", "link", "docs", "local:docs")
	x.works("retention", "on", "docs")
	x.works("group", "create", "staff", "--org", "acme")
	x.works("retention", "ingest", "docs")
	for _, args := range [][]string{{}, {"--action", "group.create"}} {
		out, errs, code := x.say("", append([]string{"retention", "export"}, args...)...)
		n := 0
		for line := range strings.Lines(out) {
			var e authz.AuditEntry
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Action == "" {
				t.Fatalf("%v: %s", err, line)
			}
			n++
		}
		if code != 0 || n == 0 || len(args) > 0 && n != 1 || !strings.Contains(out, "group.create") || errs != fmt.Sprintf("%d entries\n", n) {
			t.Errorf("export %v: exit %d, %q\n%s", args, code, errs, out)
		}
	}
	x.fails(exitUsage, "NDJSON", "retention", "export", "-o", "json")

	for text, says := range map[string]string{
		`{"action":"a"}` + "\n":                                     "broke off after 1 entries",
		`{"action":"a"}` + "\n" + `{"act`:                           "broke off after 1 entries",
		`{"action":"a"}` + "\n" + `{"end":true,"count":2}` + "\n":   "announced 2 entries and sent 1",
		`{"action":"` + strings.Repeat("a", hostedclient.MaxAnswer): "longer than 64 MiB",
	} {
		far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		key := x.write("far.key", x.key)
		x.fails(exitFailure, says, "retention", "export", "--org", "acme", "--url", far.URL, "--token-file", key)
		far.Close()
	}
}
