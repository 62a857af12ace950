package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/sdk/authz"
)

const mailCatalog = "namespaces: [mail]\npermissions: {mail.box.read: {scopes: [mail.box]}}\nscopeTypes: {mail.box: {}}\n"

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
	}, "mail.yaml", mailCatalog)
	x.logsIn()
	x.works("application", "register", "mail", "--namespace", "mail")
	for _, app := range []string{"docs", "mail"} {
		x.works("application", "link", app, "local:"+app)
		x.works("catalog", "publish", x.dir+"/"+app+".yaml", "--org", "acme", "--app", app)
	}
	return x
}

// holds tells of each that it is in a text.
func holds(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func TestAnOrganizationMovesToTheHostedServiceAndBack(t *testing.T) {
	x := newFederation(t)
	x.do("role", "create", "reader", "--name", "Reader", "--pattern", "docs.files.read", "--app", "docs")
	x.do("grant", "create", "user:ann", "--role", "reader", "--app", "docs")
	x.do("role", "create", "reader", "--name", "Mail reader", "--pattern", "mail.box.read", "--app", "mail")
	x.do("grant", "create", "user:bob", "--role", "reader", "--app", "mail")

	x.fails(exitFailure, "'authz application federate docs'", "application", "federate", "mail", "--dry-run")
	x.fails(exitFailure, "authz application federate APP", "application", "sync")
	holds(t, x.works("application", "federate", "docs", "--dry-run"),
		"docs brings 0 people, 0 groups, 1 roles, 2 global grants", "this moves it: authz application federate docs\n")
	x.shows("linked", "application", "show", "docs")
	x.failsWith("n\n", exitUsage, "Move the organization of docs", "application", "federate", "docs")
	x.shows("docs is federated: 0 people", "application", "federate", "docs", "--yes", "--watch")
	holds(t, x.works("application", "show", "docs"), "federated since", "last sync")
	x.shows("federated", "org", "show")
	x.fails(exitFailure, "It is a member already: 'authz application sync docs'", "application", "federate", "docs", "--yes")
	x.fails(exitFailure, "'authz application demote APP'", "application", "unlink", "docs", "--yes")
	x.fails(exitFailure, "not the org root", "grant", "create", "user:eve", "--pattern", "docs.files.read", "--app", "docs", "--socket", x.socket)

	// A second one, with conflicts: what moves is told, and the result is a file.
	out, errs, code := x.say("y\n", "application", "federate", "mail", "--org", "acme")
	holds(t, errs, "mail brings", "role:reader: two different roles have the id reader", `mail     "Mail reader" with mail.box.read`,
		"- rename_incoming  that of mail gets another id", "widens:current:grant:", "user:boss holds authz_internal.* at *",
		"2 conflicts: nothing was moved", "authz application federate mail --org acme --resolutions decided.yaml")
	if code != exitFailure || !strings.HasPrefix(out, "fingerprint: ") || strings.Contains(errs, "Move the organization") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	dry, _, code := x.say("", "application", "federate", "mail", "--dry-run")
	if holds(t, dry, "mail brings", out); code != exitFailure {
		t.Errorf("a dry run with conflicts: exit %d", code)
	}
	decided := x.write("decided.yaml", out) // about one of them nothing stands there yet
	open, errs, code := x.say("", "application", "federate", "mail", "--resolutions", decided, "--yes")
	if holds(t, errs, "1 conflict: nothing was moved", "--yes --resolutions "+decided); code != exitFailure || strings.Contains(errs, "role:reader: ") ||
		!strings.Contains(open, `"role:reader": {action: rename_incoming, newId: "mail-reader"}`) {
		t.Errorf("exit %d\n%s%s", code, open, errs)
	}
	x.write("decided.yaml", regexp.MustCompile(`# (".*accept})`).ReplaceAllString(open, "$1"))
	x.failsWith("n\n", exitUsage, "Move the organization of mail", "application", "federate", "mail", "--resolutions", decided)
	x.fails(exitFailure, "decide again", "application", "federate", "mail", "--resolutions", x.write("old.yaml", "fingerprint: sha256:00\n"))
	x.shows("mail is federated", "application", "federate", "mail", "--resolutions", decided, "--yes")
	x.fails(exitFailure, "members: docs (not_last_member)", "application", "demote", "mail", "--yes")

	holds(t, x.works("application", "sync", "docs"), "APPLICATION  RESULT   SEQ", "docs         applied")
	x.works("grant", "create", "user:eve", "--role", "mail-reader", "--org", "acme")
	var done struct{ Results []federation.Synced }
	if out := x.works("application", "sync", "-o", "json"); json.Unmarshal([]byte(out), &done) != nil || len(done.Results) != 2 || !done.Results[0].Applied {
		t.Error(out)
	}
	if row := regexp.MustCompile(`mail .* federated .* healthy  20\S+Z  20\S+Z  -`); !row.MatchString(x.works("application", "list")) {
		t.Error(x.works("application", "list"))
	}
	for user, key := range map[string]string{"eve": "mail.box.read", "bob": "mail.box.read", "ann": "docs.files.read"} {
		app, _, _ := strings.Cut(key, ".")
		if out, errs, code := x.say("", "check", "--user", user, key, "--app", app, "--socket", x.socket); code != 0 || !strings.Contains(out, "ALLOWED") {
			t.Errorf("%s may not %s: exit %d\n%s%s", user, key, code, out, errs)
		}
	}
	for _, command := range []string{"federate", "demote", "sync"} {
		if out, errs, code := x.tab("application", command, ""); code != 0 || !strings.Contains(out, "docs\tDocs") {
			t.Errorf("%s offers, exit %d\n%s%s", command, code, out, errs)
		}
	}
}

func TestADemotionShowsWhatStays(t *testing.T) {
	x := newFederation(t)
	x.fails(exitFailure, "authz application federate docs", "application", "demote", "docs", "--dry-run")
	x.works("application", "federate", "docs", "--yes")
	x.works("grant", "create", "service:robot", "--pattern", "cloud.applications.read", "--org", "acme")
	holds(t, x.works("application", "demote", "docs", "--dry-run"), "docs gets", "0 roles and 1 grants of cloud.* stay",
		": service:robot holds cloud.applications.read", "this moves it: authz application demote docs")
	x.failsWith("n\n", exitUsage, "Give the organization back to docs?", "application", "demote", "docs")
	var done federation.Demoted
	out := x.works("application", "demote", "docs", "--yes", "-o", "json")
	if err := json.Unmarshal([]byte(out), &done); err != nil || len(done.LeftBehind.Grants) != 1 || done.Application.State != "linked" {
		t.Errorf("%v\n%s", err, out)
	}
	x.shows("linked", "org", "show")
}

// TestEveryConflictIsReadAndSettled: a file that is begun by the command, and decided about
// with an editor, settles all of them.
func TestEveryConflictIsReadAndSettled(t *testing.T) {
	x := newFederation(t)
	for app, key := range map[string]string{"docs": "docs.files.read", "mail": "mail.box.read"} {
		at := func(args ...string) { t.Helper(); x.do(append(args, "--app", app)...) }
		at("role", "create", "reader", "--name", "Reader of "+app, "--pattern", key)
		at("role", "create", "admin", "--pattern", "*", "--pattern", key)
		at("group", "create", "ops", "--name", "Ops of "+app)
		at("user", "groups", "u_"+app, "ops")
		at("user", "manager", "bob", "m_"+app)
		at("grant", "create", "user:root", "--pattern", "*")
	}
	x.do("user", "manager", "p", "q", "--app", "mail")
	x.do("user", "manager", "q", "p", "--app", "docs")
	x.do("group", "create", "alone", "--app", "docs")
	x.do("user", "groups", "zoe", "alone", "--app", "docs")
	x.do("grant", "create", "group:alone", "--pattern", "mail.box.read", "--app", "mail")
	x.do("scope", "parents", "mail.box:b_1", "--none", "--app", "mail")
	x.do("grant", "create", "user:ann", "--role", "reader", "mail.box:b_1", "--app", "mail")
	x.works("application", "federate", "docs", "--yes")

	var plan federation.Federated
	out, errs, code := x.say("", "application", "federate", "mail", "--dry-run", "-o", "json")
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != exitFailure || !plan.DryRun || len(plan.Conflicts) != 11 || plan.Fingerprint == "" {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	holds(t, errs, "11 conflicts: nothing was moved", "Write a file {fingerprint, resolutions}")
	told, _, _ := x.say("", "application", "federate", "mail", "--dry-run")
	holds(t, told, "cycle:p: people who manage each other\n  together  p → q → p, each managed by the next",
		"manager:bob: bob has two managers\n  the org  managed by m_docs\n  mail     managed by m_mail\n",
		"group:alone: two different groups have the id alone", "mail     names the id in rows, and has no group of it\n",
		`"Ops of mail"; people: 1, only here u_mail`, "unite            they are one group",
		"rename_incoming is not possible: 1 rows at instances of mail name the id, and no merge rewrites them",
		`the org    user:root holds * at *`, "narrow  it keeps to its application: docs.*; it administers nothing any more",
		"narrow  it is deleted: no part of it belongs to its application", "accept  it stays as it is, and speaks for the whole organization")
	_, file, _ := strings.Cut(told, "anything new:\n\n")

	// What is no comment stands already; of the rest one line each is chosen.
	choose := strings.NewReplacer(
		`# "cycle:p": {action: choose, userId: "q"`, `"cycle:p": {action: choose, userId: "q"`,
		`# "manager:bob": {action: choose, managerUserId: "m_mail"}`, `"manager:bob": {action: choose, managerUserId: "m_mail"}`,
		`# "role:reader": {action: rename_current, newId: "acme-reader"}`, `"role:reader": {action: rename_current, newId: "docs-reader"}`,
		`  "group:ops": {action: rename_incoming`, `  # "group:ops": {action: rename_incoming`,
		`# "group:ops": {action: unite}`, `"group:ops": {action: unite}`)
	file = regexp.MustCompile(`# (".*accept})`).ReplaceAllString(choose.Replace(file), "$1")
	file = regexp.MustCompile(`(?m)^  ".*narrow}\n`).ReplaceAllString(file, "")
	decided := x.write("decided.yaml", file)

	x.fails(exitFailure, `there is no such conflict; did you mean "role:reader"? (invalid_resolution)`,
		"application", "federate", "mail", "--resolutions", x.write("typo.yaml", strings.Replace(file, `"role:reader"`, `"role:raeder"`, 1)))
	x.fails(exitFailure, `its actions are [rename_current], not "rename_incoming"`, "application", "federate", "mail",
		"--resolutions", x.write("blocked.yaml", strings.Replace(file, `  "role:reader": {action: rename_current`, `  "role:reader": {action: rename_incoming`, 1)))
	x.fails(exitFailure, "decide again (stale_resolutions)", "application", "federate", "mail", "--fingerprint", "sha256:00")
	x.failsWith(file, exitUsage, "give --yes or --dry-run", "application", "federate", "mail", "--resolutions", "-")
	x.failsWith(file, exitUsage, "standard input was written for other conflicts", "application", "federate", "mail", "--resolutions", "-", "--fingerprint", "sha256:00", "--yes")
	x.shows("this moves it: authz application federate mail --resolutions "+decided, "application", "federate", "mail", "--dry-run", "--resolutions", decided)

	out, errs, code = x.say(file, "application", "federate", "mail", "--resolutions", "-", "--yes", "-o", "json")
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != 0 || plan.Application.State != "federated" {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	at := func(args ...string) []string { return append(args, "--org", "acme") }
	x.shows("m_mail", at("user", "manager", "bob")...)
	x.shows("u_docs\nu_mail\n", at("group", "members", "ops")...)
	holds(t, x.works(at("role", "list")...), "docs-reader", "mail-admin")
	x.shows("q", at("user", "manager", "p")...)
}

// TestAFileOfResolutionsHoldsWhateverIDsThereAre: what is printed is read again.
func TestAFileOfResolutionsHoldsWhateverIDsThereAre(t *testing.T) {
	id := "a\"b\\c\u202e\u0085\U000e0001: {x}#\t'é"
	names := sides{current: "the org", currentID: "acme", incoming: "mail", incomingID: "mail"}
	conflicts := []authz.Conflict{
		{ID: "role:" + id, Kind: authz.ConflictRoleID, Actions: []authz.ConflictAction{authz.ActionRenameIncoming}, Current: []byte("null"), Incoming: []byte(`{"id":"r","name":"R"}`)},
		{ID: "docs/group:a/b", Kind: authz.ConflictGroupID, Actions: []authz.ConflictAction{authz.ActionRenameIncoming}, Incoming: []byte(`{"members":1}`)},
		{ID: "group:a/b", Kind: authz.ConflictGroupID, Actions: []authz.ConflictAction{authz.ActionUnite}},
		{ID: "role:blocked", Kind: authz.ConflictRoleID, Blocked: []authz.BlockedRename{{Action: authz.ActionRenameCurrent, Application: "mail", Reason: authz.BlockedByCatalog, Count: 2}}},
		{ID: "later:" + id, Kind: "of_later", Actions: []authz.ConflictAction{"do_it"}, Current: []byte("[7]")},
	}
	want := resolutions{"sha256:1", map[string]authz.Resolution{
		"role:" + id:     {Action: authz.ActionRenameIncoming, NewID: "mail-" + id},
		"docs/group:a/b": {Action: authz.ActionRenameIncoming, NewID: "docs-a/b"},
		"manager:" + id:  {Action: authz.ActionChoose, ManagerUserID: authz.ChooseManager(id)},
		"cycle:" + id:    {Action: authz.ActionChoose, UserID: id, ManagerUserID: authz.ChooseManager("")},
	}}
	decided := map[string]authz.Resolution{"manager:" + id: want.decided["manager:"+id], "cycle:" + id: want.decided["cycle:"+id]}
	var told, file bytes.Buffer
	names.show(&told, &file, conflicts, "sha256:1", decided)
	holds(t, told.String(), "role:blocked", "rename_current is not possible: 2 approval stages in the catalog of mail", "of later", "docs  names the id in rows, and has no group of it; people: 1")
	got, err := readResolutions(&file, "-", false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(resolutions{}, authz.ChosenManager{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// relayed is an application at another host, with a proxy before it that may hinder calls.
type relayed struct {
	*console
	hinder atomic.Pointer[func(op string, w http.ResponseWriter, r *http.Request, forward http.Handler)]
}

// newRelayed is a tenant whose org root is the application mail of another host.
func newRelayed(t *testing.T) (*tenant, *relayed) {
	t.Helper()
	x := newTenantWith(t, func(text string) string { return text + "  relay: {allow_loopback: true}\n" })
	x.logsIn()
	far := &relayed{}
	var target atomic.Pointer[url.URL]
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target.Load()) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := far.hinder.Load(); h != nil {
			(*h)(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	x.works("application", "register", "mail", "--namespace", "mail")
	secret := strings.TrimSpace(x.works("application", "link", "mail", proxy.URL))

	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return strings.NewReplacer("  docs:", "  mail:", "docs.yaml", "mail.yaml", "partition: docs", "partition: mail").Replace(text)
	})
	s.write("mail.yaml", mailCatalog)
	s.write("secret", secret)
	host := s.start("serve", "--config", path)
	eventually(t, "the other host is ready", func() bool { return listensAt.MatchString(host.errs.String()) })
	base := "http://" + listensAt.FindStringSubmatch(host.errs.String())[1]
	far.console = &console{s, host, filepath.Join(s.dir, "run", "authz.sock"), base}
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	target.Store(to)
	far.do("grant", "create", "user:boss", "--pattern", "authz_internal.*")
	x.shows("mail is healthy", "application", "probe", "mail")
	x.fails(exitFailure, "namespaces: mail (catalog_not_published)\n'authz catalog publish FILE --org ORG --app mail' publishes it.", "application", "federate", "mail", "--dry-run")
	x.works("catalog", "publish", s.dir+"/mail.yaml", "--org", "acme", "--app", "mail")
	return x, far
}

// TestAMoveIsWatchedAndJoined: steps are told, and a move of which nobody knows what became
// of it is explained, shown, and waited for by the same command.
func TestAMoveIsWatchedAndJoined(t *testing.T) {
	x, far := newRelayed(t)
	slow := func(op string, w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if op == "applyOrgSnapshot" {
			time.Sleep(2500 * time.Millisecond)
		}
		forward.ServeHTTP(w, r)
	}
	far.hinder.Store(&slow)
	out, errs, code := x.say("", "application", "federate", "mail", "--yes", "--watch")
	if code != 0 || !strings.Contains(out, "mail is federated") || !strings.Contains(errs, "federate, step flip: the application takes it\n") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}

	// The first thing that a demotion sends is the newest dataset: without it nothing moves.
	lost := func(op string, w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if op == "applyOrgSnapshot" {
			panic(http.ErrAbortHandler) // no answer
		}
		forward.ServeHTTP(w, r)
	}
	far.hinder.Store(&lost)
	x.fails(exitFailure, "Nothing was changed. 'authz application probe mail'", "application", "demote", "mail", "--yes")

	var gone atomic.Bool
	cut := func(op string, w http.ResponseWriter, r *http.Request, forward http.Handler) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if op == "applyOrgSnapshot" && bytes.Contains(body, []byte(`"authority":true`)) {
			forward.ServeHTTP(httptest.NewRecorder(), r)
			gone.Store(true)
		}
		if gone.Load() {
			panic(http.ErrAbortHandler) // no answer
		}
		forward.ServeHTTP(w, r)
	}
	far.hinder.Store(&cut)
	x.fails(exitFailure, "it is not known which side keeps the organization", "application", "demote", "mail", "--yes")
	holds(t, x.works("org", "show"), "moving", "'authz application show mail'")
	x.shows("demote, step flip: the application takes it (stands still: authority_unknown), since 20", "application", "show", "mail")
	x.shows("demote, flip: authority_unknown", "application", "list")
	x.fails(exitFailure, "'authz org show' names the application", "grant", "create", "user:eve", "--pattern", "mail.box.read", "--org", "acme")
	x.fails(exitFailure, "org_root_moving", "application", "sync")
	x.fails(exitFailure, "'authz application show mail' shows how far it is", "application", "demote", "mail", "--dry-run")
	x.fails(exitFailure, "'authz application show mail' shows how far it is", "application", "federate", "mail", "--yes")

	far.hinder.Store(nil)
	out, errs, code = x.say("", "application", "demote", "mail", "--watch")
	if code == exitFailure { // it may have ended by itself before that
		x.shows("linked", "application", "show", "mail")
		return
	}
	if holds(t, errs, "waiting for the move that is under way: demote"); code != 0 || !strings.Contains(out, "mail is the org root again") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestAMoveThatTakesLongerIsWaitedFor: the hosted API answers after two minutes at the latest.
// Here it does so at once.
func TestAMoveThatTakesLongerIsWaitedFor(t *testing.T) {
	late := `{"error":{"name":"ProviderTransportError","code":"application_timeout","message":"it goes on","application":"docs","outcome":"unknown",
		"operation":{"kind":"federate","step":"flip","startedAt":1}}}`
	counts := `"imported":{"groups":1,"roles":2,"globalGrants":3,"globalRevokes":0,"users":4,"pendingRequests":0},"virtualParents":[],"warnings":["mind"]`
	var moves atomic.Int32
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"application":{"id":"docs"}}`)
		case bytes.Contains(body, []byte("dryRun")):
			_, _ = io.WriteString(w, `{"dryRun":true,"conflicts":[],`+counts+`}`)
		case moves.Add(1)%3 != 0:
			w.WriteHeader(http.StatusGatewayTimeout)
			_, _ = io.WriteString(w, late)
		default:
			_, _ = io.WriteString(w, `{"application":{"id":"docs"},"org":{"id":"acme"},`+counts+`}`)
		}
	}))
	t.Cleanup(far.Close)
	s := newShell(t)
	args := []string{"application", "federate", "docs", "--yes", "--url", far.URL, "--org", "acme", "--token-file", s.write("token", "authz_adm_x")}
	out, errs, code := s.run(append(args, "--watch")...)
	if code != 0 || strings.Count(errs, "waiting further") != 2 || strings.Count(errs, "warning: mind") != 1 || !strings.Contains(out, "docs is federated: 4 people") {
		t.Errorf("exit %d after %d calls\n%s%s", code, moves.Load(), out, errs)
	}
	if _, errs, code := s.run(args...); code != exitFailure || !strings.Contains(errs, "The move goes on by itself: 'authz application show docs'") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestThePromotionOfAMeshTakesTheSameFile: its conflicts are read and settled alike.
func TestThePromotionOfAMeshTakesTheSameFile(t *testing.T) {
	s := newShell(t)
	s.serveFile(nil)
	s.write("mail.yaml", mailCatalog)
	path := s.write("authz.yaml", `
listen: 127.0.0.1:0
ops_listen: ""
run_dir: run
plugins:
  main: {plugin: sqlite, config: {path: rows.db}}
applications:
  docs: {catalog: docs.yaml, storage: {driver: main, partition: docs}}
  mail: {catalog: mail.yaml, storage: {driver: main, partition: mail}}
`)
	host := s.start("serve", "--config", path)
	socket := filepath.Join(s.dir, "run", "authz.sock")
	eventually(t, "the host is ready", func() bool { return exists(socket) && strings.Contains(host.errs.String(), "ready") })
	for app, key := range map[string]string{"docs": "docs.files.read", "mail": "mail.box.read"} {
		s.ok("role", "create", "reader", "--pattern", key, "--app", app, "--socket", socket)
	}
	s.ok("grant", "create", "user:boss", "--pattern", "authz_internal.*", "--app", "docs", "--socket", socket)
	s.ok("mesh", "registry", "put", s.write("mesh.yaml", "members: [{partition: docs, namespaces: [docs]}, {partition: mail, namespaces: [mail]}]\n"), "--config", path, "--app", "docs", "--yes")
	promote := []string{"mesh", "promote", "--to", "docs", "--from", "mail", "--config", path, "--app", "docs"}
	out, errs, code := s.run(promote...)
	if holds(t, errs, "role:reader: two different roles have the id reader\n  docs", "rename_incoming  that of mail gets another id",
		"authz mesh promote --app docs --config "+path+" --from mail --to docs --resolutions decided.yaml"); code != exitFailure {
		t.Errorf("exit %d", code)
	}
	if !slices.Contains(strings.Split(out, "\n"), `  "role:reader": {action: rename_incoming, newId: "mail-reader"}`) {
		t.Fatal(out)
	}
	decided := s.write("decided.yaml", regexp.MustCompile(`# (".*accept})`).ReplaceAllString(out, "$1"))
	if _, errs, code := s.run(append(promote, "--resolutions", decided)...); code != exitUsage || !strings.Contains(errs, "Move the organization to docs? [y/N]") {
		t.Errorf("exit %d\n%s", code, errs) // nobody answers
	}
	holds(t, s.ok(append(promote, "--resolutions", decided, "--yes")...), "docs holds the organization")
}
