package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/api/hosted"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/internal/stopped"
	"github.com/authzhost/authz/internal/testlog"
)

// pluginSecret is in the environment of every plugin's process, and in what the
// importer reads.
const pluginSecret = "a-secret-of-the-plugins-of-this-test"

// operated is a host with a plugin of every kind, and its operator's session.
type operated struct {
	*sinking
	visitor
	reading string
	said    map[string][]byte // the answers' bodies, all together by endpoint
}

func openOperated(t *testing.T) *operated {
	t.Helper()
	buildPlugin(t, "sqlite")
	buildPlugin(t, "scripted")
	o := &operated{sinking: &sinking{log: &testlog.Log{}, dir: t.TempDir(), made: map[string]int64{}}, said: map[string][]byte{}}
	o.reading = o.path("reading")
	cfg := configure(t, hostedLines(hostedFiles(t), bootUser))
	env := map[string]config.Secret{"TOKEN": config.NewSecret(pluginSecret, "")}
	cfg.Plugins.Instances = map[string]config.Plugin{
		"accounts": {Plugin: "memory"},
		"main":     {Plugin: "sqlite", Env: env, Config: config.NewSettings(map[string]any{"path": o.path("authz.db")})},
		"hr":       {Plugin: "scripted", Env: env, Config: config.NewSettings(map[string]any{"file": o.reading})},
		"usage":    {Plugin: "ledger", Env: env, Config: config.NewSettings(map[string]any{"path": o.path("usage"), "behaves": ""})},
	}
	cfg.Service.Storage.Driver = "accounts"
	cfg.Metrics.Sinks, cfg.Metrics.Window = []string{"usage"}, time.Minute
	cfg.Directories = map[string]config.Directory{
		"staff": {Importer: "hr", Application: "docs", Source: "staff", Schedule: "0 4 1 1 *", Authoritative: true, MaxDeactivations: 0.1, Timeout: time.Minute}}
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Embedded: embedded(t)})
	if err != nil {
		t.Fatal(err)
	}
	o.Host = h
	t.Cleanup(func() { closeHost(t, h) })
	call(t, caller(h), "createGrant", object{"input": object{"subject": "user:ann", "pattern": "docs.files.read", "provenance": root}})
	o.visitor = visitor{t: t, at: "http://" + h.Address()}.signIn("", bootUser)
	return o
}

// shownOf reads a list of the host.
func shownOf[T any](o *operated, name string) (rows []T) {
	o.t.Helper()
	a := o.must(200, "GET", "/host/"+name, "")
	o.said[name] = append(o.said[name], a.raw...)
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(a.raw, &lists); err != nil {
		o.t.Fatal(err)
	}
	if err := json.Unmarshal(lists[name], &rows); err != nil {
		o.t.Fatal(err)
	}
	return rows
}

func (o *operated) shown(name string) hosted.HostPlugin {
	o.t.Helper()
	for _, p := range shownOf[hosted.HostPlugin](o, "plugins") {
		if p.Name == name {
			return p
		}
	}
	o.t.Fatalf("no plugin %s", name)
	return hosted.HostPlugin{}
}

// TestTheOperatorSeesTheHost over real processes: one that is killed and cannot come
// up again, the counts that it misses, and runs of a directory that fail and succeed.
// What the administration socket tells of paths, processes and texts is not shown.
func TestTheOperatorSeesTheHost(t *testing.T) {
	o := openOperated(t)
	hr := staff{t, localCaller(o.Host)}
	var secrets []string // as long as they were true
	pids := map[int]bool{}
	remember := func() {
		for _, name := range []string{"main", "hr", "usage"} {
			p := o.plugin(t, name)
			pids[p.PID] = true
			secrets = append(secrets, p.Path)
			secrets = append(secrets, strings.Split(p.Error, "\n")...)
		}
		if last := hr.status().Last; last != nil {
			secrets = append(secrets, last.Error)
		}
	}

	plugins := shownOf[hosted.HostPlugin](o, "plugins")
	for i := range plugins {
		if plugins[i].Since == 0 || plugins[i].Version == "" {
			t.Errorf("%+v", plugins[i])
		}
		plugins[i].Since, plugins[i].Version = 0, ""
	}
	if diff := cmp.Diff([]hosted.HostPlugin{
		{Name: "accounts", Plugin: "memory", Kinds: []string{"storage"}, Needed: true, State: "running"},
		{Name: "hr", Plugin: "scripted", Kinds: []string{"directory_importer"}, State: "running"},
		{Name: "main", Plugin: "sqlite", Kinds: []string{"storage"}, Needed: true, State: "running"},
		{Name: "usage", Plugin: "ledger", Kinds: []string{"metrics_sink"}, Embedded: true, State: "running"},
	}, plugins); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	remember()

	// Runs: nothing yet, one that fails, and one that succeeds.
	dir := shownOf[hosted.HostDirectory](o, "directories")[0]
	if dir.Name != "staff" || dir.Application != "docs" || dir.Importer != "hr" || dir.State != directory.StateIdle || dir.Last != nil || dir.Run != nil || dir.NextAt == nil || dir.Stale {
		t.Errorf("%+v", dir)
	}
	write(t, o.reading, everything+"\n"+pluginSecret+"\n")
	if _, err := hr.run(nil); err == nil {
		t.Fatal("a malformed reading was taken")
	}
	remember()
	if last := hr.status().Last; !strings.Contains(last.Error, pluginSecret) {
		t.Errorf("the text of the error would give nothing away: %q", last.Error)
	}
	dir = shownOf[hosted.HostDirectory](o, "directories")[0]
	if last := dir.Last; last == nil || last.Result != "failed" || last.Cause == nil || *last.Cause != "invalid" || dir.LastSuccess != nil || dir.Runs.Failed != 1 {
		t.Errorf("%+v", dir)
	}
	gate := o.path("go")
	waits, _ := json.Marshal(object{"wait": gate})
	writeReading(t, o.reading, string(waits), `{"user":{"userId":"ann"}}`, `{"user":{"userId":"bob"}}`, `{"warning":{"message":"`+pluginSecret+`"}}`)
	ended := make(chan error, 1)
	go func() { _, err := hr.run(nil); ended <- err }()
	eventually(t, "the run shows", func() bool {
		d := shownOf[hosted.HostDirectory](o, "directories")[0]
		return d.State == "running" && d.Run != nil && d.Run.Phase == "reading" && d.Run.Expected != nil && *d.Run.Expected == 1000
	})
	write(t, gate, "")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	dir = shownOf[hosted.HostDirectory](o, "directories")[0]
	if last := dir.Last; last == nil || last.Result != "succeeded" || last.Cause != nil || last.People != 2 || last.Created != 2 || last.Warnings != hr.status().Last.Warnings || last.Warnings < 2 || last.Scheduled || !last.Authoritative ||
		last.StartedAt == 0 || last.EndedAt < last.StartedAt || dir.Run != nil || !cmp.Equal(last, dir.LastSuccess) || dir.Runs != (hosted.DirectoryRuns{Succeeded: 1, Failed: 1}) {
		t.Errorf("%+v, last %+v", dir, last)
	}

	// An importer that is killed comes back by itself.
	kill(t, o.plugin(t, "hr").PID)
	eventually(t, "the killed plugin runs again", func() bool { p := o.shown("hr"); return p.Restarts == 1 && p.State == "running" })
	if p := o.shown("hr"); p.LastFailure == nil || p.LastFailure.Kind != "ended" || p.LastFailure.At > p.Since {
		t.Errorf("%+v", p)
	}
	remember()

	// A sink that cannot: what has taken its file's name is no ledger.
	o.check(t, 100)
	app, _ := o.Application("docs")
	if err := app.FlushUsage(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(o.path("usage"), o.path("away")); err != nil {
		t.Fatal(err)
	}
	write(t, o.path("usage"), "no ledger\n")
	kill(t, o.plugin(t, "usage").PID)
	eventually(t, "the failed restart shows", func() bool {
		p := o.shown("usage")
		return p.State == "restarting" && p.LastFailure != nil && p.LastFailure.Kind == "not_started"
	})
	remember()
	for range 8 {
		o.check(t, 10)
		now, cancel := context.WithCancel(t.Context())
		cancel()
		_ = app.FlushUsage(now) // closes the window and waits for nothing
	}
	sink := shownOf[hosted.HostSink](o, "sinks")[0]
	if a := sink.Applications; sink.Name != "usage" || sink.Plugin != "ledger" || sink.State != "restarting" || len(a) != 1 || a[0].Application != "docs" ||
		a[0].Windows.Full < 4 || a[0].Checks.Full < 40 || a[0].Checks.Delivered != 100 || a[0].LastDropped == nil || a[0].LastDropped.At == 0 {
		t.Errorf("%+v", sink)
	}
	if p := o.shown("main"); p.State != "running" {
		t.Errorf("%+v", p)
	}
	if err := os.Rename(o.path("away"), o.path("usage")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sink is back", func() bool {
		p := o.shown("usage")
		return p.State == "running" && p.Restarts == 1 && shownOf[hosted.HostSink](o, "sinks")[0].State == "running"
	})
	remember()
	eventually(t, "every check is delivered or dropped", func() bool {
		a := shownOf[hosted.HostSink](o, "sinks")[0].Applications[0]
		lost := a.Checks.Full + a.Checks.Refused + a.Checks.Unavailable + a.Checks.Unknown + a.Checks.Stopped
		return a.Pending == 0 && a.Checks.Delivered+lost == 180 && lost == o.plugin(t, "usage").Counts[0].Dropped()
	})

	machine, _ := os.Hostname()
	secrets = append(secrets, pluginSecret, bootSecret, testSecret, o.dir, "authz.db", "127.0.0.1", ".sock", "0 4 1 1", `"`+machine+`"`, "/", `\n`)
	for _, name := range []string{"plugins", "sinks", "directories"} {
		if len(o.said[name]) == 0 {
			t.Fatalf("nothing was asked of %s", name)
		}
		for _, secret := range secrets {
			if secret != "" && bytes.Contains(o.said[name], []byte(secret)) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
		for in := json.NewDecoder(bytes.NewReader(o.said[name])); ; {
			token, err := in.Token()
			if err != nil {
				break
			}
			if n, ok := token.(float64); ok && n > 1000 && pids[int(n)] {
				t.Errorf("%s holds the id of a process, %v", name, n)
			}
		}
	}
	if len(pids) < 5 || !slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(s, "could not be started") }) {
		t.Errorf("there was little to look for: processes %v, %q", pids, secrets)
	}
}

// A directory whose storage does not answer is told as it was known, in bounded time.
func TestTheOperatorIsToldThatADirectorysStorageDoesNotAnswer(t *testing.T) {
	o := openOperated(t)
	writeReading(t, o.reading, `{"user":{"userId":"ann"}}`)
	staff{t, localCaller(o.Host)}.must(nil)
	pid := o.plugin(t, "main").PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goOn := func() { _ = syscall.Kill(pid, syscall.SIGCONT) } // it may be gone
	t.Cleanup(goOn)
	if err := stopped.Await(pid); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	dir := shownOf[hosted.HostDirectory](o, "directories")[0]
	if took := time.Since(began); !dir.Stale || dir.Last == nil || dir.Last.Result != "succeeded" || dir.Last.Created != 1 || took > 10*time.Second {
		t.Errorf("after %v: %+v", took, dir)
	}
	goOn()
	eventually(t, "storage answers again", func() bool { return !shownOf[hosted.HostDirectory](o, "directories")[0].Stale })
}
