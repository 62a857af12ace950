package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/authzhost/authz/configs"
	"github.com/authzhost/authz/examples/acme"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/internal/testprocess"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// bin is where TestMain puts the binaries; the tests run them as an operator
// does.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "authz-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		for name, path := range map[string]string{"authz": "cmd/authz", "authz-plugin-memory": "plugins/memory"} {
			if err := testprocess.BuildAs(filepath.Join(dir, name), path); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return postgrestest.Run(m)
	}())
}

var readyAt = regexp.MustCompile(`(?s)authz is ready at (http://\S+).*\n(curl [^\n]*)\n([^\n]*)\n.*Serving`)

func TestAnEmptyQuickstartComesUpAndSaysThatThereIsNothingToAsk(t *testing.T) {
	s := newEmptyMachine(t)
	host := s.start("quickstart", "--empty", "--listen", "127.0.0.1:0")
	said := host.waitFor(t, regexp.MustCompile(`(?s)authz is ready at (http://\S+)\n.*nothing to ask yet.*The dashboard: http://\S+/dashboard/\n.*Its hosted API is at .*/api/v1, its org acme.*Serving`))
	token := filepath.Join(s.dir, ".authz", "acme.secret")
	if out := s.ok("check", "--user", "u_17", "docs.files.delete", "--url", said[1], "--token-file", token); out != "DENIED\n" {
		t.Errorf("a check printed %q", out)
	}
	if _, errs, code := s.run("quickstart"); code != 0 { // loads the sample into it
		t.Fatalf("exit %d: %s", code, errs)
	}
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-host.done
	if code := host.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	again := s.start("quickstart", "--empty", "--listen", "127.0.0.1:0")
	again.waitFor(t, readyAt) // there is something to ask by now
}

func TestAQuickstartOnATakenPortSaysWhatToDo(t *testing.T) {
	s := newEmptyMachine(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, errs, code := s.run("quickstart", "--listen", taken.Addr().String()); code != exitFailure || !strings.Contains(errs, "--listen 127.0.0.1:9000") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// nothingDrifts asks the org's registry, as its owner, for rows that name what is not
// published.
func nothingDrifts(t *testing.T, base, secret string) {
	t.Helper()
	proof, err := os.ReadFile(secret)
	if err != nil {
		t.Fatal(err)
	}
	a := &founder{base: base, origin: base}
	var in struct{ CSRFToken string }
	err = a.call(t.Context(), http.MethodPost, "/auth/sign-in", map[string]any{"org": sampleOrg, "userId": "owner",
		"proof": map[string]string{"kind": "bootstrap", "secret": strings.TrimSpace(string(proof))}}, &in)
	if err != nil {
		t.Fatal(err)
	}
	a.csrf = in.CSRFToken
	var drift struct{ Roles, Grants, Imports, Unavailable []any }
	if err := a.call(t.Context(), http.MethodGet, "/orgs/"+sampleOrg+"/registry/drift", nil, &drift); err != nil {
		t.Fatal(err)
	}
	if len(drift.Roles)+len(drift.Grants)+len(drift.Imports)+len(drift.Unavailable) > 0 {
		t.Errorf("of the sample drift %d roles, %d grants, %d imports; %v", len(drift.Roles), len(drift.Grants), len(drift.Imports), drift.Unavailable)
	}
}

// TestQuickstart is the life of the sample on an empty machine: nothing but the
// program in an empty directory, loaded, asked, everything killed, asked again.
func TestQuickstart(t *testing.T) {
	s := newEmptyMachine(t)
	// One port is asked for and no other is needed, such as the default ops_listen.
	if taken, err := net.Listen("tcp", "127.0.0.1:9090"); err == nil {
		t.Cleanup(func() { taken.Close() })
	}
	quickstart := []string{"quickstart", "--listen", "127.0.0.1:0"}
	host := s.start(quickstart...)
	said := host.waitFor(t, readyAt)
	base, curl, answer := said[1], said[2], said[3]
	secret := filepath.Join(s.dir, ".authz", "acme.secret")
	for _, name := range []string{"acme.secret", "authz.yaml", "authz.db", "acme.catalog.yaml"} {
		if info, err := os.Stat(filepath.Join(s.dir, ".authz", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if !strings.Contains(curl, "$(cat ") || answer != `{"allowed":true}` {
		t.Errorf("printed\n%s\n%s", curl, answer)
	}
	pasted, err := exec.Command("sh", "-c", curl).Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Log("SKIPPED pasting the line: curl is not installed")
	} else if err != nil || strings.TrimSpace(string(pasted)) != answer {
		t.Errorf("the line pasted: %s, %v", pasted, err)
	}
	token, err := os.ReadFile(secret)
	if err != nil {
		t.Fatal(err)
	}
	c := &provider.Caller{Base: base, Secret: strings.TrimSpace(string(token))}
	questions := acme.Questions(acme.Generate())

	askAll(t, c, questions)
	explained(t, s, questions[0])
	question := questions[0]
	ask := []string{"check", "--user", question.Principal.UserID, question.Key, question.Scope}
	if out := s.ok(ask...); out != "ALLOWED\n" {
		t.Errorf("check printed %q", out)
	}
	if out := s.ok(append(ask, "--url", base, "--token-file", secret, "-o", "json")...); !strings.Contains(out, `"allowed": true`) {
		t.Errorf("check over HTTP printed %q", out)
	}
	if _, _, code := s.run("check", "--user", "nobody", question.Key, question.Scope, "--exit-code"); code != exitDenied {
		t.Errorf("a denial exits with %d, want %d", code, exitDenied)
	}
	if _, errs, code := s.run("check", "--user", "u", "docs.files.updat_file"); code != exitFailure || !strings.Contains(errs, "docs.files.update_file") {
		t.Errorf("an unknown key: exit %d, %s", code, errs)
	}
	if out := s.ok("plugin", "list"); !strings.Contains(out, "embedded in "+s.binary) {
		t.Errorf("plugin list printed\n%s", out)
	}
	nothingDrifts(t, base, filepath.Join(s.dir, ".authz", ownerSecret))
	configuration := filepath.Join(".authz", "authz.yaml")
	running := storeOf(t, s.ok("storage", "status", "--config", configuration, "-o", "json"), false)

	// Its driver dies and comes back with everything.
	syscall.Kill(pluginPID(t, s), syscall.SIGKILL)
	eventually(t, "the store is open again", func() bool { return strings.Contains(host.errs.String(), "storage reopened") })
	askAll(t, c, questions)

	// Host and driver are killed. A report needs no host, and a second start
	// continues with what is there.
	pid := pluginPID(t, s)
	host.Process.Kill()
	syscall.Kill(pid, syscall.SIGKILL)
	<-host.done
	if offline := storeOf(t, s.ok("storage", "status", "--config", configuration, "-o", "json"), true); offline != running {
		t.Errorf("offline the store is %+v, it was %+v", offline, running)
	}
	host = s.start(quickstart...)
	c.Base = host.waitFor(t, readyAt)[1]
	if errs := host.errs.String(); !strings.Contains(errs, "there already") || strings.Contains(errs, "loaded") || strings.Contains(errs, "LOST") {
		t.Errorf("the second start said\n%s", errs)
	}
	if again, err := os.ReadFile(secret); err != nil || string(again) != string(token) {
		t.Errorf("the secret changed: %v", err)
	}
	askAll(t, c, questions)

	pid = pluginPID(t, s)
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-host.done
	if code := host.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the host stopped with %d\n%s", code, host.errs.String())
	}
	if syscall.Kill(pid, 0) == nil {
		t.Errorf("the plugin process %d lives on", pid)
	}
	if strings.Contains(host.errs.String()+host.out.String(), strings.TrimSpace(string(token))) {
		t.Error("the secret was printed")
	}
}

// storeOf reads the one store of a report.
func storeOf(t *testing.T, report string, offline bool) storeFacts {
	t.Helper()
	var r struct {
		Offline bool
		Stores  []storeFacts
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil || r.Offline != offline {
		t.Fatalf("%v in\n%s", err, report)
	}
	for _, one := range r.Stores { // beside it lies the account data
		if one.Application != account.Partition {
			return one
		}
	}
	t.Fatalf("no store of an application in\n%s", report)
	return storeFacts{}
}

type storeFacts struct {
	Application, Driver, Partition, Incarnation string
	Durable, CrossProcess                       bool
	SchemaVersion                               int
	Error                                       string
}

// TestAQuickstartOfRowsInMemoryIsFilledAgain: a driver that keeps nothing takes
// the rows along when it dies, which must not pass for an empty store.
func TestAQuickstartOfRowsInMemoryIsFilledAgain(t *testing.T) {
	s := newShell(t)
	s.write("acme.catalog.yaml", string(acme.Catalog()))
	s.write("acme.secret", "a-secret-of-the-test")
	path := s.write("memory.yaml", strings.NewReplacer("plugin: sqlite\n    config: { path: authz.db } #", "plugin: memory #",
		"file:host.key", "file:.authz/host.key", "file:owner.secret", "file:.authz/owner.secret").Replace(configs.Quickstart))
	quickstart := []string{"quickstart", "--config", path, "--listen", "127.0.0.1:0"}
	host := s.start(quickstart...)
	base := host.waitFor(t, readyAt)[1]
	token, err := os.ReadFile(filepath.Join(s.dir, ".authz", "acme.secret"))
	if err != nil {
		t.Fatal(err)
	}
	c := &provider.Caller{Base: base, Secret: strings.TrimSpace(string(token))}
	questions := acme.Questions(acme.Generate())
	askAll(t, c, questions)
	question := questions[0]
	ask := []string{"check", "--user", question.Principal.UserID, question.Key, question.Scope}
	owner, err := os.ReadFile(filepath.Join(s.dir, ".authz", ownerSecret))
	if err != nil {
		t.Fatal(err)
	}
	signIn := func() error {
		f := &founder{base: base, origin: base}
		return f.signIn(t.Context(), sampleOrg, &config.Bootstrap{UserID: "owner", Secret: config.NewSecret(strings.TrimSpace(string(owner)), "")})
	}
	if err := signIn(); err != nil {
		t.Fatal(err)
	}

	syscall.Kill(pluginPID(t, s), syscall.SIGKILL)
	eventually(t, "the host says that its store is lost", func() bool { return strings.Contains(host.errs.String(), "STORAGE LOST") })
	if _, errs, code := s.run(ask...); code != exitFailure || !strings.Contains(errs, "storage status") {
		t.Errorf("a check on a lost store: exit %d, %s", code, errs)
	}
	if out := s.ok("storage", "status"); !strings.Contains(out, "LOST") || !strings.Contains(out, "authz storage accept acme") {
		t.Errorf("storage status printed\n%s", out)
	}
	if _, errs, code := s.run(quickstart...); code != 0 { // a second one loads into the first
		t.Fatalf("loading again: exit %d\n%s", code, errs)
	}
	if out := s.ok("storage", "status"); !strings.Contains(out, "ready") || strings.Contains(out, "LOST") {
		t.Errorf("storage status printed\n%s", out)
	}
	askAll(t, c, questions)
	if err := signIn(); err != nil {
		t.Errorf("the owner of the org that was lost as well: %v", err)
	}
}

func askAll(t *testing.T, c *provider.Caller, questions []acme.Question) {
	t.Helper()
	for i, q := range questions {
		var answer struct{ Allowed *bool }
		err := c.Call(t.Context(), "check", checkParams{Principal: q.Principal, Key: q.Key, Scope: q.Scope}, &answer)
		if err != nil || answer.Allowed == nil || *answer.Allowed != q.Want {
			t.Errorf("question %d, %s %s at %s: %v, %v, want %v (%s)", i, q.Principal, q.Key, q.Scope, answer.Allowed, err, q.Want, q.Why)
		}
	}
}

func explained(t *testing.T, s *shell, q acme.Question) {
	t.Helper()
	var e access.Explanation
	out := s.ok("explain", "--user", q.Principal.UserID, q.Key, q.Scope, "-o", "json")
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatal(err)
	}
	if e.Allowed != q.Want || len(e.MatchedGrants) != len(q.Grants) || len(e.MatchedRevokes) != len(q.Revokes) {
		t.Errorf("explained %+v, want the rows %v and %v", e, q.Grants, q.Revokes)
	}
	text := s.ok("explain", "--user", q.Principal.UserID, q.Key, q.Scope)
	for _, g := range e.MatchedGrants {
		if !strings.Contains(text, g.ID) {
			t.Errorf("the text does not name grant %s:\n%s", g.ID, text)
		}
	}
}

func pluginPID(t *testing.T, s *shell) int {
	t.Helper()
	var list struct{ Plugins []struct{ PID int } }
	if err := json.Unmarshal([]byte(s.ok("plugin", "list", "-o", "json")), &list); err != nil || len(list.Plugins) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list.Plugins[0].PID
}

func TestServeSaysWhatIsWrongAndExitsByIt(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	for name, c := range map[string]struct {
		change func(*shell) func(string) string
		code   int
		want   []string
	}{
		"an unknown configuration key": {
			func(*shell) func(string) string { return replace("run_dir:", "rundir: x\nrun_dir:") }, exitUsage, []string{"rundir", "run_dir"}},
		"a key of a feature that does not exist yet": {
			func(*shell) func(string) string { return func(text string) string { return text + "service: {}\n" } }, exitUsage, []string{"service"}},
		"a plugin binary that is not there": {
			func(*shell) func(string) string { return replace("plugin: memory", "plugin: oracle") }, exitPlugin, []string{"authz-plugin-oracle", bin}},
		"a setting that the plugin does not know": {
			func(*shell) func(string) string {
				return replace("plugin: memory", "plugin: memory, config: {size: 3}")
			}, exitUsage, []string{"size"}},
		"a plugin that crashes at start": {
			func(s *shell) func(string) string {
				return replace("plugin: memory", "plugin: "+s.write("authz-plugin-crash", "#!/bin/sh\necho out of luck >&2\nexit 7\n"))
			}, exitPlugin, []string{"authz-plugin-crash", "out of luck"}},
		"a plugin that speaks no common protocol version": {
			func(s *shell) func(string) string {
				return replace("plugin: memory", "plugin: "+s.write("authz-plugin-future", "#!/bin/sh\necho '1|99|unix|/nowhere|grpc|'\nsleep 5\n"))
			}, exitPlugin, []string{"99", "2", "newer"}},
		"a plugin of the protocol version before": {
			func(s *shell) func(string) string {
				return replace("plugin: memory", "plugin: "+s.write("authz-plugin-past", "#!/bin/sh\necho '1|1|unix|/nowhere|grpc|'\nsleep 5\n"))
			}, exitPlugin, []string{"version 1", "rebuild it"}},
		"a catalog with boot errors": {
			func(s *shell) func(string) string {
				return replace("docs.yaml", s.write("bad.yaml", "namespaces: [docs]\npermissions: {shop.items.read: true, docs: true}\n"))
			}, exitUsage, []string{"shop.items.read", "docs: "}},
		"a catalog that is no YAML": {
			func(s *shell) func(string) string {
				return replace("docs.yaml", s.write("bad.yaml", "namespaces: [docs\n"))
			}, exitUsage, []string{"bad.yaml"}},
		"a secret in the file": {
			func(*shell) func(string) string { return replace("file:secret", "written-down-in-the-file") }, exitUsage, []string{"env:", "file:"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			path := s.serveFile(c.change(s))
			out, errs, code := s.run("serve", "--config", path)
			if code != c.code {
				t.Errorf("exit %d, want %d\n%s%s", code, c.code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("it does not say %q:\n%s", want, errs)
				}
			}
			if strings.Contains(errs, "written-down-in-the-file") {
				t.Errorf("it shows a secret:\n%s", errs)
			}
			left, _ := filepath.Glob(filepath.Join(s.dir, "run", "plugins", "*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestCommandsTeach(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(nil)
	if out := s.ok("config", "check", "--config", path); !strings.Contains(out, "valid") {
		t.Errorf("config check printed %q", out)
	}
	if out := s.ok("config", "print", "--config", path); !strings.Contains(out, "file:") || strings.Contains(out, "a-secret-of-the-test") {
		t.Errorf("config print printed\n%s", out)
	}
	if out := s.ok("version", "-o", "json"); !json.Valid([]byte(out)) || !strings.Contains(out, `"sqlite"`) {
		t.Errorf("version printed %q", out)
	}
	if out := s.ok("--help"); strings.Contains(out, serveCommand) {
		t.Error("the command that only hosts use is shown")
	}
	if out := s.ok("completion", "bash"); !strings.Contains(out, "authz") {
		t.Error("there is no shell completion")
	}
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"quickstart", "--help"}, {"check", "--help"}, {"explain", "--help"},
		{"config", "check", "--help"}, {"config", "print", "--help"}, {"plugin", "list", "--help"}, {"storage", "status", "--help"},
		{"storage", "accept", "--help"}, {"storage", "migrate", "--help"}, {"storage", "renew", "--help"}, {"directory", "apply", "--help"}, {"version", "--help"}} {
		if out := s.ok(args...); !strings.Contains(out, "Usage:") {
			t.Errorf("authz %v printed\n%s", args, out)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve"}, "config"},
		{[]string{"check", "docs.files.read"}, "--user"},
		{[]string{"check", "--user", "u", "--service", "s", "docs.files.read"}, "--user"},
		{[]string{"check", "--user", "u"}, "arg"},
		{[]string{"check", "--user", "u", "--url", "http://127.0.0.1:1", "docs.files.read"}, "--token-file"},
		{[]string{"check", "--user", "u", "--url", "http://authz.example", "--token-file", path, "docs.files.read"}, "unencrypted"},
		{[]string{"check", "--user", "u", "--url", "http://localhost@authz.example", "--token-file", path, "docs.files.read"}, "no user"},
		{[]string{"check", "--user", "u", "--url", "authz.example", "--token-file", path, "docs.files.read"}, "absolute URL"},
		{[]string{"frobnicate"}, "frobnicate"},
		{[]string{"quickstart", "--config", filepath.Join(s.dir, "none.yaml")}, "none.yaml"},
		{[]string{"storage", "migrate"}, "--config"},
		{[]string{"storage", "migrate", "--config", path, "--plugin", "other"}, "main"},
		{[]string{"storage", "status", "--config", path, "--output", "xml"}, "xml"},
		{[]string{"storage", "renew", "other", "--config", path}, "other"},
		{[]string{serveCommand, "oracle"}, "memory"},
		{[]string{"plugin", "list", "--output", "xml"}, "xml"},
	} {
		_, errs, code := s.run(c.args...)
		if code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("authz %v: exit %d, %s", c.args, code, errs)
		}
	}
	if _, errs, code := s.run("plugin", "list", "--socket", filepath.Join(s.dir, "none.sock")); code != exitFailure || !strings.Contains(errs, "authz serve") {
		t.Errorf("without a host: exit %d, %s", code, errs)
	}
}

func TestServeReloadsAppliesADirectoryAndStops(t *testing.T) {
	s := newShell(t)
	path := s.serveFile(func(text string) string {
		return strings.Replace(text, "listen: 127.0.0.1:0", "log: {level: info, format: json}\nlisten: 127.0.0.1:0", 1)
	})
	host := s.start("serve", "--config", path)
	listening := regexp.MustCompile(`"listen":"([^"]+)"`)
	eventually(t, "the host is ready", func() bool { return listening.MatchString(host.errs.String()) })
	socket := filepath.Join(s.dir, "run", "authz.sock")
	c := &provider.Caller{Base: "http://" + listening.FindStringSubmatch(host.errs.String())[1], Secret: "a-secret-of-the-test"}

	people := s.write("people.yaml", "groups: [{id: eng, name: Engineering}]\nmemberships: {u_1: [eng]}\n")
	s.ok("directory", "apply", "-f", people, "--source", "test", "--socket", socket)
	var members struct{ UserIDs []string }
	if err := c.Call(t.Context(), "getGroupMembers", map[string]string{"groupId": "eng"}, &members); err != nil || fmt.Sprint(members.UserIDs) != "[u_1]" {
		t.Errorf("members %v, %v", members, err)
	}
	if _, errs, code := s.run("directory", "apply", "-f", s.write("bad.json", `{"groups":3}`), "--source", "test", "--socket", socket); code != exitUsage || !strings.Contains(errs, "bad.json:1:11: groups: must be a list") {
		t.Errorf("a malformed snapshot: exit %d, %s", code, errs)
	}
	err := c.Call(t.Context(), "createGrant", map[string]any{"input": map[string]any{"subject": "group:eng", "pattern": "docs.files.read",
		"provenance": authz.AdminProvenance("root")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out := s.ok("check", "--socket", socket, "--user", "u_1", "docs.files.read"); out != "ALLOWED\n" {
		t.Errorf("check printed %q", out)
	}

	s.write("secret", "the-secret-after-rotation")
	if err := host.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	c.Secret = "the-secret-after-rotation"
	eventually(t, "the new secret is taken over", func() bool { return c.Call(t.Context(), "ping", nil, nil) == nil })
	if err := host.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-host.done
	if code := host.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d\n%s", code, host.errs.String())
	}
}

func TestAStopDuringTheStartIsAStop(t *testing.T) {
	s := newShell(t)
	hangs := s.write("authz-plugin-hangs", "#!/bin/sh\n: > "+filepath.Join(s.dir, "started")+"\nexec sleep 60\n")
	path := s.serveFile(func(text string) string {
		return strings.Replace(text, "plugin: memory", "plugin: "+hangs+", env: {PATH: /bin:/usr/bin}", 1)
	})
	host := s.start("serve", "--config", path)
	eventually(t, "its plugin is being started", func() bool { return exists(filepath.Join(s.dir, "started")) })
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-host.done
	if code := host.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d\n%s", code, host.errs.String())
	}
}

func TestOnlyASecondStopSignalHurriesAStop(t *testing.T) {
	for _, test := range []struct {
		drain, says string
		second      os.Signal
		code        int
	}{
		{"1s", "stopping", syscall.SIGHUP, 0},
		{"5m", errHurried.Error(), syscall.SIGTERM, exitFailure},
	} {
		s := newShell(t)
		path := s.serveFile(func(text string) string {
			return strings.Replace(text, "listen: 127.0.0.1:0", "drain_delay: "+test.drain+"\nlisten: 127.0.0.1:0", 1)
		})
		host := s.start("serve", "--config", path)
		eventually(t, "the host is ready", func() bool { return strings.Contains(host.errs.String(), "listen=") })
		if err := host.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the stop begins", func() bool { return strings.Contains(host.errs.String(), "stopping") })
		if err := host.Process.Signal(test.second); err != nil {
			t.Fatal(err)
		}
		<-host.done
		if code := host.ProcessState.ExitCode(); code != test.code || !strings.Contains(host.errs.String(), test.says) {
			t.Errorf("%v after a stop signal: exit %d\n%s", test.second, code, host.errs.String())
		}
	}
}

func TestAHostThatIsKilledLeavesNoPlugin(t *testing.T) {
	for name, change := range map[string]func(string) string{"a binary of its own": nil, "embedded": overSQLite} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			path := s.serveFile(change)
			host := s.start("serve", "--config", path)
			eventually(t, "the host is ready", func() bool { return strings.Contains(host.errs.String(), "ready") })
			var list struct{ Plugins []struct{ PID int } }
			out := s.ok("plugin", "list", "--socket", filepath.Join(s.dir, "run", "authz.sock"), "-o", "json")
			if err := json.Unmarshal([]byte(out), &list); err != nil {
				t.Fatal(err)
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-host.done
			eventually(t, "the plugin has ended", func() bool { return syscall.Kill(list.Plugins[0].PID, 0) != nil })
			again := s.start("serve", "--config", path) // what the dead host left does not stand in the way
			eventually(t, "a new host is ready", func() bool { return strings.Contains(again.errs.String(), "ready") })
			if sockets, _ := filepath.Glob(filepath.Join(s.dir, "run", "plugins", "*")); len(sockets) != 1 {
				t.Errorf("sockets of dead hosts are left: %v", sockets)
			}
		})
	}
}
