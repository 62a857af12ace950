package postgres_test

import (
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/testcert"
	"github.com/authzhost/authz/plugins/postgres/postgres"
)

// Whoever mends a connection needs its cause, which repeats nothing of the DSN but the
// address and the names of files.
func TestAServerThatIsNotReachedIsNamedWithTheCause(t *testing.T) {
	_, certificate, key := testcert.Make(t)
	strange, _, _ := testcert.Make(t)
	missing := filepath.Join(t.TempDir(), "none.crt")
	server := afterSSLRequest(t, certificate, key)
	for dsn, want := range map[string]string{
		"postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable":                                      "PostgreSQL at 127.0.0.1:1 does not answer: nobody listens there",
		"postgres://u:hunter2@no-such-host.invalid/x?sslmode=disable":                             "PostgreSQL at no-such-host.invalid:5432 does not answer: ",
		"postgres://u:hunter2@" + server + "/x?sslmode=verify-full&sslrootcert=" + strange:        "does not answer: its certificate is not accepted: x509: certificate signed by unknown authority",
		"postgres://u:hunter2@" + server + "/x?sslmode=verify-full&sslrootcert=" + missing:        `setting "dsn": names a file that cannot be read: open ` + missing,
		"postgres://u:hunter2@/x?host=" + filepath.Dir(missing) + "&sslmode=disable&user=hunter2": "does not answer: nobody listens there",
	} {
		_, err := postgres.Configure(t.Context(), map[string]any{"dsn": dsn, "lease": time.Second})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s answered %v, want %s", dsn, err, want)
		}
	}
}

// afterSSLRequest agrees to TLS as PostgreSQL does, and shows the certificate.
func afterSSLRequest(t *testing.T, certificate, key string) (address string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, conn, 8); err == nil {
				_, _ = conn.Write([]byte("S"))
				_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}}).Handshake()
			}
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}
