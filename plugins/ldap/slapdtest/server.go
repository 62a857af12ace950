package slapdtest

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/internal/stopped"
)

// Suffix is the root of the directory, AdminDN who may do everything in it.
const (
	Suffix  = "dc=example,dc=com"
	AdminDN = "cn=admin," + Suffix
)

const schemaDir = "/etc/ldap/schema"

//go:embed ad.schema
var activeDirectory []byte

// Options configures a server.
type Options struct {
	LDIF   io.Reader // what the directory holds; nil is nothing
	Global []string  // further lines of slapd.conf before the database
	Lines  []string  // further lines of the database
}

// Server is one slapd with a database in a temporary folder. It listens on two
// loopback ports, one of them with TLS from the first byte.
type Server struct {
	Password string // of AdminDN
	Files    Files

	port, tlsPort int
	folder        string
	process       *exec.Cmd
	ended         chan struct{}
}

// Require skips the test, loudly, when the machine has no slapd.
func Require(tb testing.TB) {
	tb.Helper()
	if _, err := binary("slapd"); err != nil {
		tb.Skip("SKIPPED: no slapd on the PATH or in /usr/sbin; the LDAP importer is NOT tested against a server")
	}
}

// New starts a server that ends with the test.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	Require(tb)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := start(ctx, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// URL is the address without TLS, or with it after StartTLS.
func (s *Server) URL() string { return "ldap://" + s.address(s.port) }

// TLSURL is the address with TLS from the first byte.
func (s *Server) TLSURL() string { return "ldaps://" + s.address(s.tlsPort) }

// Address is where URL leads.
func (s *Server) Address() string { return s.address(s.port) }

func (s *Server) address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func start(ctx context.Context, o Options) (*Server, error) {
	folder, err := os.MkdirTemp("", "slapd")
	if err != nil {
		return nil, err
	}
	s := &Server{folder: folder, Password: rand.Text()}
	err = s.create(ctx, o)
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) create(ctx context.Context, o Options) (err error) {
	if s.Files, err = writeFiles(s.folder); err != nil {
		return err
	}
	for _, port := range []*int{&s.port, &s.tlsPort} {
		if *port, err = freeport.Port(); err != nil {
			return err
		}
	}
	schema := filepath.Join(s.folder, "ad.schema")
	if err := errors.Join(os.WriteFile(schema, activeDirectory, 0o600), os.Mkdir(filepath.Join(s.folder, "db"), 0o700)); err != nil {
		return err
	}
	var lines []string
	for _, name := range []string{"core", "cosine", "inetorgperson", "nis"} {
		lines = append(lines, "include "+filepath.Join(schemaDir, name+".schema"))
	}
	lines = append(lines, "include "+schema, "modulepath /usr/lib/ldap", "moduleload back_mdb",
		"TLSCACertificateFile "+s.Files.CA, "TLSCertificateFile "+s.Files.serverCert, "TLSCertificateKeyFile "+s.Files.serverKey, "TLSVerifyClient try")
	lines = append(lines, o.Global...)
	lines = append(lines, "database mdb", `suffix "`+Suffix+`"`, `rootdn "`+AdminDN+`"`, "rootpw "+s.Password,
		"directory "+filepath.Join(s.folder, "db"), "maxsize 1073741824", "dbnosync", "index objectClass eq")
	lines = append(lines, o.Lines...)
	if err := os.WriteFile(s.conf(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	return s.load(ctx, o.LDIF)
}

func (s *Server) conf() string { return filepath.Join(s.folder, "slapd.conf") }

// load fills the database while no server runs.
func (s *Server) load(ctx context.Context, ldif io.Reader) error {
	if ldif == nil {
		return nil
	}
	tool, err := binary("slapadd")
	if err != nil {
		return err
	}
	add := exec.CommandContext(ctx, tool, "-q", "-f", s.conf())
	add.Stdin = ldif
	if out, err := add.CombinedOutput(); err != nil {
		return fmt.Errorf("slapadd: %w\n%s", err, out)
	}
	return nil
}

// Start starts the server again after Kill, on the same ports and entries.
func (s *Server) Start(ctx context.Context) error {
	tool, err := binary("slapd")
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(tool, "-f", s.conf(), "-h", s.URL()+" "+s.TLSURL(), "-d", "0")
	process.Stdout, process.Stderr = log, log
	endWithParent(process)
	ended, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // the process ends with the thread that started it
		err := process.Start()
		started <- err
		if err == nil {
			_ = process.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process, s.ended = process, ended
	for _, port := range []int{s.port, s.tlsPort} { // slapd listens on one after the other
		if err := s.await(ctx, port); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the server accepts connections at the port.
func (s *Server) await(ctx context.Context, port int) error {
	for {
		if conn, err := net.Dial("tcp", s.address(port)); err == nil {
			return conn.Close()
		}
		select {
		case <-s.ended:
			said, _ := os.ReadFile(filepath.Join(s.folder, "log"))
			return fmt.Errorf("slapd ended at once:\n%s", said)
		case <-ctx.Done():
			return fmt.Errorf("slapd does not answer at port %d: %w", port, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends the server as the kernel does when memory runs out.
func (s *Server) Kill() error {
	if err := s.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-s.ended
	s.process = nil
	return nil
}

// Signal sends the server's process a signal.
func (s *Server) Signal(signal os.Signal) error {
	if err := s.process.Process.Signal(signal); err != nil || signal != syscall.SIGSTOP {
		return err
	}
	return stopped.Await(s.process.Process.Pid) // until then it answers
}

func (s *Server) close() error {
	if s.process != nil {
		_ = s.Signal(syscall.SIGKILL)
		<-s.ended
	}
	return os.RemoveAll(s.folder)
}

// binary finds a tool of OpenLDAP, which Debian keeps where only root looks.
func binary(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", name))
}
