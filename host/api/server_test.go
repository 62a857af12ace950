package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/listen"
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

func TestTheHeaderBlockIsBounded(t *testing.T) {
	docs := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	public, err := NewPublicHandler(PublicOptions{Providers: map[string]http.Handler{"docs": docs}, Ready: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	server, err := listen.NewServer(listen.ServerOptions{Handler: public})
	if err != nil {
		t.Fatal(err)
	}
	addr := serveHere(t, server)
	status := func(block int) (int, string) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		head := "POST /v1/ping HTTP/1.1\r\nHost: x\r\nX-Fill: "
		fmt.Fprintf(conn, "%s%s\r\n\r\n", head, strings.Repeat("x", block-len(head)-4))
		resp, err := http.ReadResponse(newReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if got, body := status(16<<10 - 64); got != http.StatusOK {
		t.Errorf("16 KiB of headers: %d %s", got, body)
	}
	for _, block := range []int{16<<10 + 256, 17 << 10, 60 << 10} {
		if got, body := status(block); got != http.StatusRequestEntityTooLarge || !strings.Contains(body, `"payload_too_large"`) {
			t.Errorf("%d bytes of headers: %d %s", block, got, body)
		}
	}
	if got, _ := status(80 << 10); got != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("80 KiB of headers: %d", got)
	}
}

func TestABodyThatStopsComingIsAnsweredAndItsConnectionClosed(t *testing.T) {
	server, err := listen.NewServer(listen.ServerOptions{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, newJournal(nil), func(x *exchange) (any, error) { return x.readMembers(DefaultBodyLimit) })
	})})
	if err != nil {
		t.Fatal(err)
	}
	server.ReadTimeout = time.Second // in which a busy machine reads the headers
	addr := serveHere(t, server)
	for name, head := range map[string]string{"": "", "after it was asked for": "Expect: 100-continue\r\n"} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "POST /v1/ping HTTP/1.1\r\nHost: x\r\n%sContent-Length: 10\r\n\r\n{", head)
		answer, err := io.ReadAll(conn)
		if err != nil {
			t.Errorf("%q: the connection is held: %v", name, err)
		}
		if !strings.Contains(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), `"bad_request"`) {
			t.Errorf("%q: answered %q", name, answer)
		}
	}
}

func TestTheServersBounds(t *testing.T) {
	server, err := listen.NewServer(listen.ServerOptions{Handler: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ got, want time.Duration }{
		"header":          {server.ReadHeaderTimeout, 5 * time.Second},
		"header and body": {server.ReadTimeout, 35 * time.Second},
		"idle":            {server.IdleTimeout, 120 * time.Second},
		"operation":       {listen.WorkTimeout, 30 * time.Second},
		"unread":          {listen.UnreadTimeout, 5 * time.Second},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if server.WriteTimeout < server.ReadTimeout+listen.WorkTimeout {
		t.Errorf("an operation may run longer than its answer may be written: %v", server.WriteTimeout)
	}
	if listen.HeaderTimeout+quickly+quickOperation >= server.ReadTimeout {
		t.Error("the time for a quick body may end within its operation, which it would cancel")
	}
	if _, err := listen.NewServer(listen.ServerOptions{}); err == nil {
		t.Error("a server without a handler was built")
	}
}

func serveHere(t *testing.T, server *http.Server) (addr string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = server
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
