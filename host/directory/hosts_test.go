package directory_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/catalog"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// The environment of this test binary when it is to be a host that can be killed.
const (
	childDSN    = "AUTHZ_TEST_CHILD_DSN"
	childFolder = "AUTHZ_TEST_CHILD_FOLDER"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		if _, err := openSite(context.Background(), dsn, os.Getenv(childFolder), "child"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends with its parent
		os.Exit(0)
	}
	os.Exit(postgrestest.Run(m))
}

// site is a host with the directory staff over a real database. Its folder, which
// other processes share, has what is due, what hangs, and notes of what happened.
type site struct {
	storage.Store
	ctx    context.Context
	folder string
	host   string
	asked  int // what is due

	app *application.Application
	dir *directory.Directory
}

func openSite(ctx context.Context, dsn, folder, host string) (*site, error) {
	driver, err := postgres.New(ctx, postgres.Options{DSN: dsn, Lease: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	store, err := driver.Open(ctx, "docs")
	if err != nil {
		return nil, err
	}
	vocabulary, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}})
	if err != nil {
		return nil, err
	}
	s := &site{Store: store, ctx: ctx, folder: folder, host: host}
	if s.app, err = application.New(ctx, application.Options{Catalog: vocabulary, Store: s}); err != nil {
		return nil, err
	}
	s.dir = directory.Open(ctx, directory.Options{Name: "staff", ApplicationName: "docs", Source: "hr", ImporterName: "people", MaxDeactivations: 0.1, Timeout: time.Minute,
		Importer: siteImporter{s}, Store: s, Application: func() directory.Target { return s.app }, Host: host, Schedule: s})
	return s, nil
}

func (s *site) file(name string) string { return filepath.Join(s.folder, name) }

func (s *site) append(name, line string) {
	f, err := os.OpenFile(s.file(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		_ = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

// lines are the whole lines of a file, none when it is not there.
func (s *site) lines(name string) []string {
	text, _ := os.ReadFile(s.file(name))
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1]
}

// noted counts a note.
func (s *site) noted(note string) (n int) {
	for _, l := range s.lines("notes") {
		if l == note {
			n++
		}
	}
	return n
}

// Next is the next instant that this host is told, once it is: by then it may have
// passed.
func (s *site) Next(time.Time) time.Time {
	s.append("notes", fmt.Sprintf("%s has run %d", s.host, s.asked))
	for s.ctx.Err() == nil {
		if due := s.lines("due." + s.host); len(due) > s.asked {
			ms, err := strconv.ParseInt(due[s.asked], 10, 64)
			if err != nil {
				panic(err)
			}
			s.asked++
			return time.UnixMilli(ms)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Time{}
}

// hang goes no further where this host is told to hang.
func (s *site) hang(ctx context.Context, where string) {
	if slices.Contains(s.lines("hang."+s.host), where) {
		s.append("notes", s.host+" hangs")
		<-ctx.Done()
	}
}

func (s *site) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if slices.ContainsFunc(c.Changes, func(c storage.Change) bool { _, ok := c.(storage.PatchUser); return ok }) {
		s.hang(ctx, "writing")
	}
	return s.Store.Commit(ctx, c)
}

type siteImporter struct{ *site }

func (siteImporter) Info() sdk.ImporterInfo { return sdk.ImporterInfo{Name: "people"} }
func (siteImporter) Close() error           { return nil }

func (i siteImporter) Import(ctx context.Context, _ sdk.Request) iter.Seq2[sdk.Entry, error] {
	return func(yield func(sdk.Entry, error) bool) {
		i.append("notes", i.host+" reads")
		ok := yield(sdk.Begin{Datasets: []sdk.ImporterCapability{sdk.CapUsers}}, nil)
		for _, id := range numbered(20) {
			ok = ok && yield(sdk.User{UserID: id}, nil)
		}
		i.hang(ctx, "reading")
		_ = ok && yield(sdk.End{}, nil)
	}
}

// twoSites are a host in this process and one in a process of its own.
func twoSites(t *testing.T) (here *site, kill func()) {
	t.Helper()
	dsn, folder := postgrestest.Database(t), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	here, err := openSite(ctx, dsn, folder, "here")
	must(t, err)
	t.Cleanup(func() {
		cancel()
		must(t, here.dir.Close(context.Background()))
		must(t, here.app.Close())
		must(t, here.Store.Close())
	})
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDSN+"="+dsn, childFolder+"="+folder)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	must(t, err)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	kill = func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	t.Cleanup(func() { _ = stdin.Close(); kill() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return here, kill
}

func (s *site) due(hosts ...string) (at int64) {
	at = time.Now().UnixMilli()
	for _, h := range hosts {
		s.append("due."+h, fmt.Sprint(at))
	}
	return at
}

func (s *site) users(t *testing.T) (ids []string) {
	t.Helper()
	for u, err := range s.ListUsers(t.Context(), storage.UserFilter{}, storage.Page{}) {
		must(t, err)
		ids = append(ids, u.UserID)
	}
	return ids
}

func TestOfTwoHostsExactlyOneRunsWhatIsDue(t *testing.T) {
	postgrestest.Require(t)
	here, _ := twoSites(t)
	for n := 1; n <= 4; n++ {
		due := here.due("child", "here")
		eventually(t, "both are done", func() bool {
			return here.noted(fmt.Sprintf("child has run %d", n)) == 1 && here.noted(fmt.Sprintf("here has run %d", n)) == 1
		})
		if read := here.noted("child reads") + here.noted("here reads"); read != n {
			t.Fatalf("the directory was read %d times when it had been due %d times", read, n)
		}
		s := here.dir.Status(t.Context())
		if last := s.Last; last == nil || last.Result != directory.Succeeded || !last.Scheduled || last.StartedAt < due {
			t.Fatalf("%+v", last)
		}
		if s.Runs[directory.Succeeded]+s.Runs[directory.Skipped] != uint64(n) || s.Runs[directory.Succeeded] != uint64(here.noted("here reads")) {
			t.Errorf("%v", s.Runs)
		}
	}
	imports := 0
	for e, err := range here.app.ListAuditEvents(t.Context(), provider.AuditQuery{}) {
		must(t, err)
		if e.Action == "directory.import" {
			imports++
		}
	}
	if imports != 4 {
		t.Errorf("the audit log tells of %d imports", imports)
	}
}

func TestAHostTakesOverWhatAnotherWasKilledOver(t *testing.T) {
	postgrestest.Require(t)
	for _, where := range []string{"reading", "writing"} {
		t.Run(where, func(t *testing.T) {
			here, kill := twoSites(t)
			here.append("hang.child", where)
			due := here.due("child")
			eventually(t, "the other host is in the middle", func() bool { return here.noted("child hangs") == 1 })
			here.append("due.here", fmt.Sprint(due))
			eventually(t, "this host waits for its turn", func() bool { return here.dir.Known().Run != nil })
			if here.noted("here reads") > 0 || len(here.users(t)) > 0 {
				t.Error("it did not wait")
			}
			kill()
			eventually(t, "this host is done", func() bool { return here.noted("here has run 1") == 1 })
			if diff := cmp.Diff(numbered(20), here.users(t)); diff != "" {
				t.Error(diff)
			}
			s := here.dir.Status(t.Context())
			if last := s.Last; last == nil || last.Result != directory.Succeeded || last.Host != "here" || !last.Scheduled || s.Runs[directory.Succeeded] != 1 {
				t.Fatalf("%+v, %v", last, s.Runs)
			}
			here.due("here")
			eventually(t, "it goes on", func() bool { return here.noted("here has run 2") == 1 })
			if n := here.dir.Known().Runs[directory.Succeeded]; n != 2 {
				t.Errorf("%d runs", n)
			}
		})
	}
}
