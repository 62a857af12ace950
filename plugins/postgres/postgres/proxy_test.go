package postgres_test

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

// proxy stands between a driver and the server and cuts connections at chosen
// points of the conversation.
type proxy struct {
	listener net.Listener
	server   string // unix socket

	// toServer and toClient count down the messages let through in that direction;
	// at zero the connection that carries the next one is cut. Negative: never.
	toServer, toClient atomic.Int64

	// speaks has the client told of a cut as a pooler tells it: by an error of its
	// own in the place of what the server said.
	speaks atomic.Bool

	down atomic.Bool // new connections are refused

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	done  sync.WaitGroup
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: postgrestest.SharedCluster(t).Socket(), conns: map[net.Conn]struct{}{}}
	p.calm()
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.done.Wait()
	})
	return p
}

// through is a DSN of the same database by way of the proxy.
func (p *proxy) through(dsn string) string {
	addr := p.listener.Addr().(*net.TCPAddr)
	words := strings.Fields(dsn)
	for i, word := range words {
		if strings.HasPrefix(word, "host=") {
			words[i] = "host=127.0.0.1"
		}
		if strings.HasPrefix(word, "port=") {
			words[i] = "port=" + strings.TrimPrefix(addr.String(), "127.0.0.1:")
		}
	}
	return strings.Join(words, " ")
}

func (p *proxy) calm() {
	p.toServer.Store(-1 << 40)
	p.toClient.Store(-1 << 40)
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) keep(c net.Conn) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
	return func() {
		_ = c.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil || p.down.Load() {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		forgetClient, forgetServer := p.keep(client), p.keep(server)
		end := func() { forgetClient(); forgetServer() }
		p.done.Go(func() { defer end(); p.copy(server, client, &p.toServer, true) })
		p.done.Go(func() { defer end(); p.copy(client, server, &p.toClient, false) })
	}
}

// copy passes on whole messages of the protocol, so that a cut falls between two.
func (p *proxy) copy(to io.Writer, from io.Reader, left *atomic.Int64, startup bool) {
	for {
		var head []byte
		if startup { // the first message of a client has no type
			head = make([]byte, 4)
		} else {
			head = make([]byte, 5)
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
		body := make([]byte, size)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if left.Load() >= 0 && left.Add(-1) < 0 {
			if left == &p.toClient && p.speaks.Load() {
				_, _ = to.Write(poolerError)
			}
			return
		}
		if _, err := to.Write(append(head, body...)); err != nil {
			return
		}
		startup = false
	}
}

// poolerError is how PgBouncer says that it lost the server: unlike an error of
// the server it has no field V.
var poolerError = func() []byte {
	const fields = "SERROR\x00C08P01\x00Mserver conn crashed?\x00\x00"
	return append(binary.BigEndian.AppendUint32([]byte{'E'}, 4+uint32(len(fields))), fields...)
}()
