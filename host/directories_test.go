package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// directoryFile is the configuration of a host with the directory staff, which
// tells what the file reading in the same place says.
func directoryFile(t testing.TB, storage, extra string) (path, reading string) {
	t.Helper()
	buildPlugin(t, "scripted")
	for _, name := range []string{"sqlite", "postgres"} {
		if strings.Contains(storage, name) {
			buildPlugin(t, name)
		}
	}
	dir, err := os.MkdirTemp("", "authz") // short: sockets live below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write(t, filepath.Join(dir, "docs.yaml"), testCatalog)
	path, reading = filepath.Join(dir, "authz.yaml"), filepath.Join(dir, "reading")
	write(t, path, `
listen: 127.0.0.1:0
ops_listen: 127.0.0.1:0
run_dir: run
plugin_dirs: [`+plugins+`]
plugins:
  main: `+storage+`
  hr: {plugin: scripted, config: {file: `+reading+`}}
applications:
  docs: {catalog: docs.yaml, storage: {driver: main, partition: docs}}
directories:
  staff: {importer: hr, timeout: 60s, `+extra+`}
`)
	return path, reading
}

const onSQLite = `{plugin: sqlite, config: {path: authz.db}}`

func loadFile(t testing.TB, path string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

type staff struct {
	t testing.TB
	*provider.Caller
}

func (s staff) run(params object) (report directory.Report, err error) {
	s.t.Helper()
	p := object{"name": "staff"}
	maps.Copy(p, params)
	err = s.Call(context.Background(), "_host/directory.run", p, &report)
	return report, err
}

func (s staff) must(params object) directory.Report {
	s.t.Helper()
	report, err := s.run(params)
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

func (s staff) status() directory.Status {
	s.t.Helper()
	var list struct{ Directories []directory.Status }
	if err := s.Call(context.Background(), "_host/directories", nil, &list); err != nil {
		s.t.Fatal(err)
	}
	return list.Directories[0]
}

func socketOf(path string) *provider.Caller {
	return adminsocket.New(filepath.Join(filepath.Dir(path), "run", "authz.sock")).Caller()
}

var alike = cmp.Options{cmpopts.EquateEmpty()}

func auditCount(t testing.TB, h *host.Host) (n int) {
	app, _ := h.Application("docs")
	for _, err := range app.ListAuditEvents(context.Background(), provider.AuditQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestADirectoryOfTenThousandPeople is a directory with cycles, dangling members,
// duplicates and, the second time, renamed people.
func TestADirectoryOfTenThousandPeople(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2026))
	path, reading := directoryFile(t, onSQLite, "authoritative: true")
	h, _ := open(t, loadFile(t, path))
	hr := staff{t, localCaller(h)}
	c := newCompany(r, 10_000, 2_000)
	c.write(t, r, reading)

	began := time.Now()
	plan := hr.must(object{"dryRun": true})
	t.Logf("planned in %s", time.Since(began))
	if got := stored(t, h); len(got.People)+len(got.Groups) > 0 || auditCount(t, h) > 0 {
		t.Fatal("a dry run wrote")
	}
	began = time.Now()
	first := hr.must(nil)
	t.Logf("%d entries applied in %s, %d rings, %d warnings of the reading", first.Entries, time.Since(began), len(c.rings), first.Reading.Count)
	if diff := cmp.Diff(plan.Plan, first.Plan); diff != "" {
		t.Errorf("the run is not its plan: %s", diff)
	}
	if diff := cmp.Diff(c.want(nil), stored(t, h), alike); diff != "" {
		t.Fatalf("stored otherwise than the directory is (-want +got):\n%.4000s", diff)
	}
	if p := first.Plan; p.CreatedPeople.Count != len(c.people) || p.CondensedGroups.Count != len(c.rings) || p.SkippedReportingEdges.Count != len(c.pairs) || first.Reading.Count < 100 {
		t.Errorf("%+v, %d warnings", p, first.Reading.Count)
	}

	t.Run("twice in a row changes nothing and says so in the audit log", func(t *testing.T) {
		before, audited := stored(t, h), auditCount(t, h)
		began := time.Now()
		again := hr.must(nil)
		t.Logf("again in %s", time.Since(began))
		if diff := cmp.Diff(before, stored(t, h), alike); diff != "" {
			t.Errorf("%.2000s", diff)
		}
		p := again.Plan
		if n := p.CreatedPeople.Count + p.DeactivatedPeople.Count + p.ReactivatedPeople.Count + p.AddedMemberships.Count + p.RemovedMemberships.Count +
			p.SetReportingEdges.Count + p.ClearedReportingEdges.Count + p.CreatedGroups.Count + p.ChangedGroups.Count; n > 0 {
			t.Errorf("%+v", p)
		}
		if n := auditCount(t, h) - audited; n != 2 || again.Audit.Entries.Count != 2 {
			t.Errorf("%d more audit entries, want import_groups and import", n)
		}
	})

	t.Run("people who were renamed are new, and gone under the old id", func(t *testing.T) {
		before := stored(t, h)
		gone := map[string]authz.User{}
		for _, id := range c.rename(200) {
			gone[id] = before.People[id]
		}
		c.write(t, r, reading)
		report := hr.must(nil)
		if p := report.Plan; p.DeactivatedPeople.Count != 200 || p.CreatedPeople.Count != 200 {
			t.Errorf("%+v", p)
		}
		if diff := cmp.Diff(c.want(gone), stored(t, h), alike); diff != "" {
			t.Fatalf("(-want +got):\n%.4000s", diff)
		}
	})

	t.Run("empty or half empty it deactivates nobody", func(t *testing.T) {
		before, audited := stored(t, h), auditCount(t, h)
		whole, err := os.ReadFile(reading)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(whole)), "\n")
		lines = lines[1 : len(lines)-1]
		for name, left := range map[string][]string{"empty": nil, "half empty": lines[:len(lines)/2]} {
			writeReading(t, reading, left...)
			if _, err := hr.run(nil); authz.CodeOf(err) != authz.CodeConflict || !strings.Contains(err.Error(), "Nothing was changed") {
				t.Errorf("%s: %v", name, err)
			}
			if plan := hr.must(object{"dryRun": true}); plan.Plan.Refusal == "" {
				t.Errorf("%s: the plan does not say that it would be refused", name)
			}
		}
		if !cmp.Equal(before, stored(t, h), alike) || auditCount(t, h) != audited {
			t.Error("a refused run wrote")
		}
	})
}

func TestABadReadingOfAPluginChangesNothing(t *testing.T) {
	path, reading := directoryFile(t, onSQLite, "authoritative: true")
	h, _ := open(t, loadFile(t, path))
	hr := staff{t, localCaller(h)}
	ann := `{"user":{"userId":"ann"}}`
	writeReading(t, reading, ann)
	hr.must(nil)
	before, audited := stored(t, h), auditCount(t, h)
	eve := `{"user":{"userId":"eve"}}`
	for name, lines := range map[string][]string{
		"no lines":                {},
		"no End":                  {everything, eve},
		"it hangs up":             {everything, eve, `{"fail":true}`},
		"it dies":                 {everything, eve, `{"die":true}`},
		"it is malformed":         {everything, eve, `}`, `{"end":{}}`},
		"an id that is too long":  {everything, `{"long":2000}`, `{"end":{}}`},
		"a dataset not announced": {everything, `{"orgs":{"userId":"u","orgs":["o"]}}`, `{"end":{}}`},
		"more behind the End":     {everything, `{"end":{}}`, eve},
	} {
		write(t, reading, strings.Join(lines, "\n"))
		if report, err := hr.run(object{"confirm": true}); err == nil {
			t.Errorf("%s: %+v", name, report)
		}
		if !cmp.Equal(before, stored(t, h), alike) || auditCount(t, h) != audited {
			t.Fatalf("%s: it wrote", name)
		}
		if s := hr.status(); s.Last.Result != directory.Failed || s.Last.Error == "" || s.LastSuccess == nil {
			t.Errorf("%s: %+v", name, s.Last)
		}
	}
	os.Remove(reading)
	writeReading(t, reading, ann, eve)
	eventually(t, "the plugin is back, and what it tells is applied", func() bool {
		_, err := hr.run(nil)
		return err == nil
	})
	if _, ok := stored(t, h).People["eve"]; !ok {
		t.Error("eve is missing")
	}
}

func TestOfTwoHostsOneRunsADirectory(t *testing.T) {
	postgrestest.Require(t)
	dsn := postgrestest.Database(t)
	var hosts []staff
	var readings []string
	var opened []*host.Host
	for range 2 {
		path, reading := directoryFile(t, `{plugin: postgres, config: {dsn: "`+dsn+`"}}`, "authoritative: false")
		h, _ := open(t, loadFile(t, path))
		hosts, readings, opened = append(hosts, staff{t, localCaller(h)}), append(readings, reading), append(opened, h)
	}
	gate := readings[0] + ".go"
	writeReading(t, readings[0], fmt.Sprintf(`{"wait":%q}`, gate), `{"user":{"userId":"ann"}}`)
	writeReading(t, readings[1], `{"user":{"userId":"bob"}}`)
	var running sync.WaitGroup
	var err error
	running.Go(func() { _, err = hosts[0].run(nil) })
	eventually(t, "the first host reads", func() bool { run := hosts[0].status().Run; return run != nil && run.Phase == directory.PhaseReading })
	if _, err := hosts[1].run(nil); authz.CodeOf(err) != authz.CodeConflict || !strings.Contains(err.Error(), "on another host") {
		t.Errorf("the second host: %v", err)
	}
	write(t, gate, "")
	running.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if s := hosts[1].status(); s.Last == nil || s.Last.Result != directory.Succeeded || !s.Resumes {
		t.Errorf("the second host does not know of the first one's run: %+v", s)
	}
	write(t, readings[1]+".changes", strings.Replace(everything, `"expected"`, `"incremental":true,"expected"`, 1)+"\n"+`{"user":{"userId":"bob"}}`+"\n"+`{"end":{"cursor":"d"}}`)
	if report := hosts[1].must(nil); !report.Incremental {
		t.Errorf("the second host does not go on from the first one's cursor: %+v", report)
	}
	if people := stored(t, opened[0]).People; len(people) != 2 {
		t.Errorf("%v", people)
	}
}

func TestAStopEndsAReading(t *testing.T) {
	path, reading := directoryFile(t, `{plugin: memory}`, "authoritative: true")
	cfg := loadFile(t, path)
	h, _ := open(t, cfg)
	hr := staff{t, localCaller(h)}
	writeReading(t, reading, `{"wait":"/nowhere"}`)
	ended := make(chan error, 1)
	go func() { _, err := hr.run(nil); ended <- err }()
	eventually(t, "it reads", func() bool { return hr.status().Run != nil })
	began := time.Now()
	closeHost(t, h)
	var outage *authz.UnavailableError
	if err := <-ended; !errors.As(err, &outage) {
		t.Errorf("%v", err)
	}
	t.Logf("stopped in %s", time.Since(began))
}

func TestAnImporterThatServesNoneIsRefusedAtTheStart(t *testing.T) {
	path, _ := directoryFile(t, `{plugin: memory}`, "authoritative: true")
	cfg := loadFile(t, path)
	d := cfg.Directories["staff"]
	d.Importer = "main"
	cfg.Directories["staff"] = d
	h, err := host.Open(t.Context(), cfg, host.Options{})
	if err == nil {
		closeHost(t, h)
		t.Fatal("the host opened")
	}
	if !strings.Contains(err.Error(), `directory "staff"`) || !strings.Contains(err.Error(), "directory_importer") {
		t.Errorf("%v", err)
	}
}

func TestReadinessAndMetricsTellOfDirectories(t *testing.T) {
	path, reading := directoryFile(t, `{plugin: memory}`, `authoritative: true, schedule: "0 3 29 2 *"`)
	h, _ := open(t, loadFile(t, path))
	hr := staff{t, localCaller(h)}
	writeReading(t, reading, `{"user":{"userId":"ann"}}`, `{"group":{"id":"g","name":"G"}}`, `{"warning":{"message":"w"}}`)
	hr.must(nil)
	writeReading(t, reading)
	if _, err := hr.run(nil); err == nil {
		t.Fatal("an empty directory was applied")
	}
	get := func(path string) string {
		t.Helper()
		answer, err := http.Get("http://" + h.OpsAddress() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
		return string(body)
	}
	ready := get("/readyz?verbose=1")
	for _, want := range []string{`"details":{"directories":{"staff":{"state":"idle","last":{"result":"refused"`, `"code":"conflict"`, `"next":`} {
		if !strings.Contains(ready, want) {
			t.Errorf("%s lacks %s", ready, want)
		}
	}
	metrics := get("/metrics")
	for _, want := range []string{`authz_directory_runs_total{directory="staff",outcome="succeeded"} 1`, `authz_directory_runs_total{directory="staff",outcome="refused"} 1`,
		`authz_directory_runs_total{directory="staff",outcome="failed"} 0`, `authz_directory_people{directory="staff"} 1`, `authz_directory_groups{directory="staff"} 1`,
		`authz_directory_warnings{directory="staff"} 1`, `authz_directory_last_success_timestamp_seconds{directory="staff"} 1`, `authz_directory_last_duration_seconds{directory="staff"}`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
	if err := hr.Call(t.Context(), "_host/directory.run", object{"name": "stuff"}, nil); authz.CodeOf(err) != authz.CodeNotFound || !strings.Contains(err.Error(), "did you mean staff?") {
		t.Errorf("%v", err)
	}
}
