package ldap

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/sdk/authz"
)

// session is a bound connection for one reading.
type session struct {
	o      Options
	server server
	raw    *limited
	conn   *ldap.Conn
	stop   func() bool
}

// connect binds to the first server that answers; missed says of those before it
// why they did not. A server that refuses the bind ends the search: the next one
// would refuse it too, and count it against the account.
func connect(ctx context.Context, o Options) (s *session, missed []string, err error) {
	for _, raw := range o.URLs {
		server, err := parseServer(raw)
		if err != nil {
			return nil, nil, err
		}
		s, err := open(ctx, o, server)
		if err == nil {
			return s, missed, nil
		}
		var unavailable *authz.UnavailableError
		if !errors.As(err, &unavailable) || ctx.Err() != nil {
			return nil, nil, err
		}
		if len(o.URLs) == 1 {
			return nil, nil, err
		}
		missed = append(missed, unavailable.Message)
	}
	return nil, nil, &authz.UnavailableError{Message: "none of the servers can be read: " + strings.Join(missed, "; ")}
}

func open(ctx context.Context, o Options, at server) (*session, error) {
	s := &session{o: o, server: at}
	config, err := o.tls(at.host)
	if err != nil {
		return nil, authz.Validation("%s: %s", at, err)
	}
	dialer := net.Dialer{Timeout: o.Timeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(at.host, at.port))
	if err != nil {
		return nil, s.failed(ctx, "cannot be reached", err)
	}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); !at.tls && !o.StartTLS && (!ok || !tcp.IP.IsLoopback()) {
		_ = conn.Close()
		return nil, authz.Validation("%s is not an address of this machine: plaintext is for those; use ldaps:// or start_tls", at)
	}
	s.raw = &limited{Conn: conn, patience: o.Timeout}
	s.raw.allow(maxAnswer)
	// A connection that is closed underneath ends whatever waits for it.
	s.stop = context.AfterFunc(ctx, func() { _ = s.raw.Close() })

	if err := s.secure(ctx, config); err != nil {
		s.close()
		return nil, err
	}
	if err := s.bind(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// secure starts the protocol, with TLS where it is configured. The handshakes have
// no other limit in time than the connection's deadline.
func (s *session) secure(ctx context.Context, config *tls.Config) error {
	_ = s.raw.SetDeadline(time.Now().Add(s.o.Timeout))
	stream, advice := net.Conn(s.raw), "; look at ca_file and server_name, and at the server's certificate"
	if s.server.tls {
		client := tls.Client(s.raw, config)
		if err := client.HandshakeContext(ctx); err != nil {
			return s.failed(ctx, "TLS failed", err, advice)
		}
		stream = client
	}
	s.conn = ldap.NewConn(stream, s.server.tls)
	s.conn.SetTimeout(s.o.Timeout)
	s.conn.Start()
	if s.o.StartTLS {
		if err := s.conn.StartTLS(config); err != nil {
			if answered(err) {
				return s.fault(ctx, "start_tls", err)
			}
			return s.failed(ctx, "TLS failed", err, advice)
		}
	}
	_ = s.raw.SetDeadline(time.Time{})
	return nil
}

func (s *session) bind(ctx context.Context) error {
	var err error
	switch {
	case s.o.BindExternal:
		err = s.conn.ExternalBind()
	case s.o.BindDN != "":
		err = s.conn.Bind(s.o.BindDN, s.o.BindPassword)
	}
	if err != nil {
		return s.fault(ctx, "the bind", err)
	}
	return nil
}

// close may be called again.
func (s *session) close() {
	s.stop()
	_ = s.raw.Close() // first, so that nothing waits for a server that is gone
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// tls reads the files anew for every connection, so that renewed ones count.
func (o Options) tls(host string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if o.ServerName != "" {
		config.ServerName = o.ServerName
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, wrong(settingCAFile, "cannot be read: %s", cause(err))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, wrong(settingCAFile, "holds no certificate in PEM")
		}
	}
	if o.CertFile != "" && o.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, wrong(settingCertFile, "is no certificate that key_file is the key of, both in PEM: %s", cause(err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// cause is what happened to a file, without its path.
func cause(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
