package hosted

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/listen"
)

const bothSecret = "a-secret-of-both-apis"

// bothAPIs serves the provider API, which takes 1 MiB here, and the hosted API, as
// the host does: over TLS with HTTP/2.
func (w *world) bothAPIs() *httptest.Server {
	w.t.Helper()
	docs, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "docs", BodyLimit: 1 << 20, Secrets: func() []string { return []string{bothSecret} }})
	w.must(err)
	public, err := api.NewPublicHandler(api.PublicOptions{Providers: map[string]http.Handler{"docs": docs}, Hosted: w.api, Ready: func() bool { return true }})
	w.must(err)
	server := httptest.NewUnstartedServer(nil)
	server.Config, err = listen.NewServer(listen.ServerOptions{Handler: api.NewObserved(public, api.ObserveOptions{}), Unread: time.Minute})
	w.must(err)
	server.EnableHTTP2 = true
	server.StartTLS()
	w.t.Cleanup(server.Close)
	return server
}

// uploading hands out n bytes, at most chunk at a time, each after a pause.
type uploading struct {
	n, chunk int
	pause    time.Duration
}

func (u *uploading) Read(p []byte) (int, error) {
	if u.n == 0 {
		return 0, io.EOF
	}
	time.Sleep(u.pause)
	n := copy(p, bytes.Repeat([]byte{' '}, min(u.chunk, u.n, len(p))))
	u.n -= n
	return n, nil
}

func TestAnAnswerToALargeUploadArrivesWholeOverHTTP2(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	admin := owner.key(`{"kind":"admin","name":"a"}`)
	server := w.bothAPIs()
	for name, c := range map[string]struct {
		path, bearer string
		status       int
		code         string
	}{
		"provider":               {"/apps/docs/v1/ping", bothSecret, 413, "payload_too_large"},
		"provider, bad bearer":   {"/apps/docs/v1/ping", "nonsense-nonsense", 401, "unauthorized"},
		"provider, unknown path": {"/apps/nowhere/v1/ping", bothSecret, 404, "unknown_op"},
		"hosted":                 {base + "/orgs/acme/seats", admin.bearer, 413, "payload_too_large"},
		"hosted, bad bearer":     {base + "/orgs/acme/seats", "nonsense", 401, "credential_invalid"},
	} {
		for pace, u := range map[string]uploading{
			"fast": {n: 20 << 20, chunk: 16 << 10}, "slow": {n: 5 << 18, chunk: 64 << 10, pause: 5 * time.Millisecond},
		} {
			for _, told := range []bool{true, false} {
				t.Run(name+" "+pace+" length told "+strconv.FormatBool(told), func(t *testing.T) {
					frames := u
					status, body := overFrames(t, server, c.path, c.bearer, told, &frames)
					judge(t, "frame by frame", c.status, c.code, status, body)
					plain := u
					r, err := http.NewRequest("POST", server.URL+c.path, &plain)
					w.must(err)
					if told {
						r.ContentLength = int64(u.n)
					}
					r.Header.Set("Authorization", "Bearer "+c.bearer)
					r.Header.Set("Content-Type", "application/json")
					answer, err := server.Client().Do(r)
					w.must(err)
					defer answer.Body.Close()
					whole, err := io.ReadAll(answer.Body)
					w.must(err)
					judge(t, answer.Proto, c.status, c.code, answer.StatusCode, whole)
				})
			}
		}
	}
}

func judge(t *testing.T, how string, status int, code string, got int, body []byte) {
	t.Helper()
	var told struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(body, &told); err != nil || got != status || told.Error.Code != code {
		t.Errorf("%s: %d %q, %v; want %d %s", how, got, body, err, status, code)
	}
}

// overFrames is a client that takes a reset of its stream for the end of it, as some
// do, and that sends its whole body before it listens to the answer.
func overFrames(t *testing.T, server *httptest.Server, path, bearer string, told bool, body *uploading) (status int, answer []byte) {
	t.Helper()
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
		ServerName: "example.com", NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(framer.WriteSettings())
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	fields := []string{":method", "POST", ":scheme", "https", ":authority", "example.com", ":path", path,
		"authorization", "Bearer " + bearer, "content-type", "application/json"}
	if told {
		fields = append(fields, "content-length", strconv.Itoa(body.n))
	}
	for i := 0; i < len(fields); i += 2 {
		must(encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	must(framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true}))

	window, onConn, ended := 65535, 65535, false // what the server takes on the stream and on the connection
	chunk := make([]byte, 16<<10)
	for {
		for body.n > 0 && min(window, onConn) >= len(chunk) {
			n, err := body.Read(chunk)
			must(err)
			must(framer.WriteData(1, false, chunk[:n]))
			window, onConn = window-n, onConn-n
		}
		if body.n == 0 && !ended {
			ended = true
			must(framer.WriteData(1, true, nil))
		}
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("with %d bytes still to send: %v", body.n, err)
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
				window += int(v) - 65535
			}
			if !f.IsAck() {
				must(framer.WriteSettingsAck())
			}
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				onConn += int(f.Increment)
			} else {
				window += int(f.Increment)
			}
		case *http2.MetaHeadersFrame:
			status, _ = strconv.Atoi(f.PseudoValue("status"))
		case *http2.DataFrame:
			answer = append(answer, f.Data()...)
			if f.StreamEnded() && body.n == 0 {
				return status, answer
			}
		case *http2.RSTStreamFrame:
			t.Fatalf("the stream was reset (%s) with %d bytes still to send, after %d %q", f.ErrCode, body.n, status, strings.TrimSpace(string(answer)))
		}
	}
}
