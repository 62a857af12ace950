package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/authzhost/authz/internal/freeport"
	"github.com/jackc/pgx/v5"
)

// ErrNoBinaries says that the machine has no PostgreSQL to start.
var ErrNoBinaries = errors.New("no postgres and initdb on the PATH or below /usr/lib/postgresql")

// superuser is the role that every connection of a test uses.
const superuser = "postgres"

// Options configures a cluster. The zero value is a cluster that forgets a power
// failure, but no crash of a process, and is fast.
type Options struct {
	// Fsync has the cluster survive a power failure: for figures, not for tests.
	Fsync bool

	// Settings are further lines of postgresql.conf.
	Settings map[string]string

	// Dir holds the cluster's folder; "" is the system's temporary one. Its path
	// must be short: sockets have room for 107 bytes.
	Dir string
}

// Cluster is one PostgreSQL server that lives in a temporary folder. It listens
// on a unix socket, where it trusts everybody who may enter the folder, and on a
// loopback port, where it asks for the password.
type Cluster struct {
	Port     int
	Password string

	folder string
	bin    string

	mu     sync.Mutex
	server *exec.Cmd
	ended  chan struct{}
	killed bool // and not started since
}

// Start makes a cluster and waits until it answers. Close it.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(o.Dir, "pg")
	if err != nil {
		return nil, err
	}
	c := &Cluster{folder: folder, bin: bin, Password: rand.Text()}
	if err := c.create(ctx, o); err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Tools is the folder of the programs that belong to the server, such as pg_dump.
func Tools() (string, error) { return binaries() }

// create fills the folder with a cluster that was never started.
func (c *Cluster) create(ctx context.Context, o Options) error {
	if err := chown(c.folder); err != nil {
		return err
	}
	secret := filepath.Join(c.folder, "secret")
	if err := os.WriteFile(secret, []byte(c.Password), 0o600); err != nil {
		return err
	}
	if err := chown(secret); err != nil {
		return err
	}
	initdb := c.command(ctx, "initdb", "--pgdata", c.data(), "--username", superuser, "--encoding", "UTF8", "--no-locale", "--no-sync",
		"--auth-local", "trust", "--auth-host", "scram-sha-256", "--pwfile", secret)
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freeport.Port()
	if err != nil {
		return err
	}
	c.Port = port
	settings := map[string]string{
		"port": strconv.Itoa(port), "listen_addresses": "127.0.0.1", "unix_socket_directories": c.folder,
		"fsync": onOff(o.Fsync), "full_page_writes": onOff(o.Fsync), "max_connections": "300", "shared_buffers": "256MB",
		"max_wal_size": "4GB", "log_min_messages": "fatal", "autovacuum_naptime": "10s",
	}
	for name, value := range o.Settings {
		settings[name] = value
	}
	var conf strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&conf, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(conf.String())
	return errors.Join(err, file.Close())
}

// Start starts the server again after Stop or Kill, on the same port and rows.
func (c *Cluster) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := c.launch(ctx)
		// The children of a killed server hold its memory for a moment more.
		if errors.Is(err, errEndedAtOnce) && c.killed && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		c.killed = c.killed && err != nil
		return err
	}
}

var errEndedAtOnce = errors.New("postgres ended at once")

func (c *Cluster) launch(ctx context.Context) error {
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	server := c.command(context.Background(), "postgres", "-D", c.data())
	server.Stdout, server.Stderr = log, log
	ended := make(chan struct{})
	started := make(chan error)
	go func() {
		// The kernel ends the server with the thread that started it, so that
		// thread stays.
		runtime.LockOSThread()
		err := server.Start()
		started <- err
		if err == nil {
			_ = server.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.server, c.ended = server, ended
	for {
		err := ping(ctx, c.DSN("postgres"))
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			c.server = nil
			said, _ := os.ReadFile(c.log())
			return fmt.Errorf("%w:\n%s", errEndedAtOnce, said)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop ends the server as an operator in a hurry does: at once, connections cut,
// rows kept.
func (c *Cluster) Stop() error { return c.signal(immediateShutdown) }

// Kill ends the server as the kernel does when memory runs out. Its backends see that
// they are orphans a moment later, and answer until then: they are waited for where
// the system names them.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	c.killed = c.killed || c.server != nil
	c.mu.Unlock()
	return c.signal(os.Kill)
}

func (c *Cluster) signal(s os.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil
	}
	backends := children(c.server.Process.Pid)
	if err := c.server.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-c.ended:
	case <-time.After(20 * time.Second):
		return errors.New("postgres does not end")
	}
	c.server = nil
	for begun := time.Now(); slices.ContainsFunc(backends, lives); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			return errors.New("backends of postgres do not end")
		}
	}
	return nil
}

// children lists the processes that a process has started, none where there is no
// /proc that tells.
func children(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// lives reports that a process is there, and more than an entry nobody has read.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return len(state) > 1 && state[1] != 'Z' && state[1] != 'X'
}

// Close ends the server and removes everything it wrote.
func (c *Cluster) Close() error { return errors.Join(c.Stop(), os.RemoveAll(c.folder)) }

// DSN reaches a database through the socket, without a password.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", c.folder, c.Port, superuser, database)
}

// TCP reaches a database through the loopback port, with the password.
func (c *Cluster) TCP(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, c.Password), Host: c.Addr(), Path: database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Addr is the loopback address and port.
func (c *Cluster) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)) }

// Socket is the path of the unix socket, for proxies.
func (c *Cluster) Socket() string {
	return filepath.Join(c.folder, ".s.PGSQL."+strconv.Itoa(c.Port))
}

// Pid is the process id of the server, 0 when it is stopped or has ended by itself:
// the kernel may have given its id away.
func (c *Cluster) Pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return 0
	}
	select {
	case <-c.ended:
		return 0
	default:
		return c.server.Process.Pid
	}
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }
func (c *Cluster) log() string  { return filepath.Join(c.folder, "log") }

func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.folder
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	unprivileged(cmd)
	return cmd
}

// binaries is the folder that holds postgres and initdb.
func binaries() (string, error) {
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if onPath, err := exec.LookPath("postgres"); err == nil {
		candidates = append(candidates, onPath)
	}
	for i := len(candidates) - 1; i >= 0; i-- {
		real, err := filepath.EvalSymlinks(candidates[i])
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(real), "initdb")); err == nil {
			return filepath.Dir(real), nil
		}
	}
	return "", ErrNoBinaries
}

func ping(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
