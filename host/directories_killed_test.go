package host_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
)

// TestAHostThatIsKilledInTheMiddle kills hosts while they write a row of an import:
// what stands then is whole commits, and the next run comes to what the directory is.
func TestAHostThatIsKilledInTheMiddle(t *testing.T) {
	postgrestest.Require(t)
	r := rand.New(rand.NewPCG(3, 2026))
	person := func(i int) string { return fmt.Sprintf(`new."userId" = 'p%05d'`, i) }
	none := func(n, _ int) bool { return n == 0 }
	some := func(n, of int) bool { return 200 < n && n < of }
	all := func(n, of int) bool { return n == of }
	for _, point := range []struct {
		name, table, when string // the row that is being written
		size, long        int    // people, and groups behind the others whose text fills a commit
		groups, people    func(n, of int) bool
		imports           int // that the audit log tells of in the end
	}{
		{"in the middle of the only commit", "AuthzUser", person(150), 300, 0, none, none, 1},
		{"in the middle of the groups", "AuthzGroup", `new."id" = 'long250'`, 300, 260, some, none, 1},
		{"in the middle of the people", "AuthzUser", person(1400), 1500, 0, all, some, 1},
		{"before its outcome is stored", "AuthzRecord", `new."collection" = 'directories'`, 300, 0, all, all, 2},
	} {
		t.Run(point.name, func(t *testing.T) {
			dsn := postgrestest.Database(t)
			path, reading := directoryFile(t, `{plugin: postgres, config: {dsn: "`+dsn+`", lease: 1s}}`, "authoritative: true")
			c := newCompany(r, point.size, 30)
			c.texts = map[string]string{}
			for i := range point.long {
				id := fmt.Sprintf("long%03d", i)
				c.groups[id], c.texts[id] = nil, strings.Repeat("d", sdk.MaxText)
			}
			c.write(t, r, reading)
			want := c.want(nil)
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			db := database{t, conn}
			doomed := startChild(t, path)
			db.hold(point.table, point.when)
			ended := make(chan error, 1)
			go func() { _, err := doomed.run(nil); ended <- err }()
			eventually(t, "the row is being written", func() bool {
				select {
				case err := <-ended:
					t.Fatal("the run ended: ", err)
				default:
				}
				return db.holds() > 0
			})
			doomed.kill()
			if err := <-ended; err == nil {
				t.Error("the run that was killed ended well")
			}
			eventually(t, "its plugin is gone", func() bool { return db.others() == 0 })
			db.release(point.table)

			h, _ := open(t, loadFile(t, path))
			left := stored(t, h)
			if n, m := len(left.Groups), len(left.People); !point.groups(n, len(want.Groups)) || !point.people(m, len(want.People)) {
				t.Errorf("%d groups and %d people stand", n, m)
			}
			hr := staff{t, localCaller(h)}
			if s := hr.status(); s.Last != nil || s.Resumes {
				t.Errorf("the run that was killed is told: %+v", s)
			}
			report := hr.must(nil)
			if diff := cmp.Diff(want, stored(t, h), alike); diff != "" {
				t.Errorf("(-want +got):\n%.3000s", diff)
			}
			if n := report.Plan.CreatedPeople.Count; n != len(want.People)-len(left.People) {
				t.Errorf("the run after it created %d people", n)
			}
			app, _ := h.Application("docs")
			imports := 0
			for e, err := range app.ListAuditEvents(t.Context(), provider.AuditQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Action == "directory.import" {
					imports++
				}
			}
			if imports != point.imports {
				t.Errorf("the audit log tells of %d imports, want %d", imports, point.imports)
			}
		})
	}
}

// TestAStopTakesNoMoreRequestsWhileAnImportIsApplied: what is applied may take the whole
// of shutdown_timeout, and requests would be cut off at its end.
func TestAStopTakesNoMoreRequestsWhileAnImportIsApplied(t *testing.T) {
	postgrestest.Require(t)
	dsn := postgrestest.Database(t)
	path, reading := directoryFile(t, `{plugin: postgres, config: {dsn: "`+dsn+`"}}`, "")
	writeReading(t, reading, `{"user":{"userId":"ann"}}`)
	h, _ := open(t, loadFile(t, path))
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db := database{t, conn}
	db.run(`lock table "AuthzUser" in share row exclusive mode`)
	staff, _ := h.Directory("staff")
	applied := make(chan error, 1)
	go func() { _, err := staff.Run(context.Background(), directory.Request{}); applied <- err }()
	eventually(t, "the row is being written", func() (waits bool) {
		// Within a transaction pg_stat_activity stays as it was first looked at.
		const query = `select count(*) > 0 from pg_locks where not granted and relation = '"AuthzUser"'::regclass`
		if err := conn.QueryRow(t.Context(), query).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		return waits
	})
	closed := make(chan error, 1)
	go func() { closed <- h.Close(context.Background()) }()
	eventually(t, "nobody can connect", func() bool {
		c, err := net.Dial("tcp", h.Address())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	select {
	case err := <-applied:
		t.Errorf("it did not wait for the rows: %v", err)
	default:
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-applied; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// others are the clients that the database waits for, but for this one: none when
// whoever was held has died.
func (d database) others() (n int) {
	const query = `select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
		and pid <> pg_backend_pid() and wait_event = 'ClientRead'`
	if err := d.conn.QueryRow(d.t.Context(), query).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// child is a host in a process of its own.
type child struct {
	staff
	process *exec.Cmd
	out     io.Reader
}

func startChild(t *testing.T, path string) *child {
	t.Helper()
	c := &child{staff: staff{t, socketOf(path)}, process: exec.Command(os.Args[0])}
	c.process.Env = append(os.Environ(), childConfig+"="+path)
	c.process.Stderr = os.Stderr
	stdin, err := c.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() })
	if c.out, err = c.process.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(c.out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return c
}

// kill ends it at once, and waits for it.
func (c *child) kill() {
	_ = c.process.Process.Kill()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.process.Wait()
}
