package host_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/internal/testlog"
)

// collector is an OTLP receiver over gRPC.
type collector struct {
	address string

	mu    sync.Mutex
	spans map[string]received // by span id
}

type received struct {
	*tracepb.Span
	service string
}

// newCollector serves the method by which spans arrive. TracesData is the wire
// form of its request (contrib/otel proves it against the generated service).
func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{spans: map[string]received{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.address = listener.Addr().String()
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "opentelemetry.proto.collector.trace.v1.TraceService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var data tracepb.TracesData
			if err := decode(&data); err != nil {
				return nil, err
			}
			c.take(&data)
			return &emptypb.Empty{}, nil
		}}}}, c)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	return c
}

func (c *collector) take(data *tracepb.TracesData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range data.ResourceSpans {
		service := ""
		for _, a := range r.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range r.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans[string(s.SpanId)] = received{s, service}
			}
		}
	}
}

// path is a span's name below those of its parents, with its service.
func (c *collector) path(s received) string {
	text := s.service + ":" + s.Name
	if parent, ok := c.spans[string(s.ParentSpanId)]; ok {
		return c.path(parent) + " > " + text
	}
	return text
}

func (c *collector) of(trace string) (paths []string, whole string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hexOf(s.TraceId) == trace {
			paths = append(paths, c.path(s))
			whole += s.String()
		}
	}
	slices.Sort(paths)
	return paths, whole
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for _, x := range b {
		out.WriteByte(digits[x>>4])
		out.WriteByte(digits[x&15])
	}
	return out.String()
}

// watchedHost is a host whose every sign of life is collected.
func watchedHost(t *testing.T, extra string) (h *host.Host, access *testlog.Log, log *testlog.Log) {
	t.Helper()
	access, log = &testlog.Log{}, &testlog.Log{}
	h, err := host.Open(t.Context(), configure(t, extra), host.Options{Version: "v9", AccessLog: access,
		Logger: hclog.New(&hclog.LoggerOptions{Output: log})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, h) })
	return h, access, log
}

func ask(t *testing.T, h *host.Host, op, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+h.Address()+"/v1/"+op+"?token=query-secret", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testSecret)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

const readCheck = `{"principal":{"userId":"u1"},"key":"docs.files.read"}`

func TestATraceCrossesTheHostAndItsPlugin(t *testing.T) {
	c := newCollector(t)
	h, _, _ := watchedHost(t, "tracing: {endpoint: \""+c.address+"\", insecure: true, sample: 0}\n")
	const kept, dropped = "4bf92f3577b34da6a3ce929d0e0e4736", "aaf92f3577b34da6a3ce929d0e0e4736"
	const parent = "00f067aa0ba902b7"
	ask(t, h, "check", readCheck, "Traceparent", "00-"+dropped+"-"+parent+"-00")
	ask(t, h, "check", strings.Replace(readCheck, "u1", "u2", 1))
	answer, text := ask(t, h, "check", strings.Replace(readCheck, "u1", "u3", 1), "Traceparent", "00-"+kept+"-"+parent+"-01", "X-Request-Id", "req-7")
	if answer.StatusCode != 200 {
		t.Fatal(text)
	}
	closeHost(t, h) // flushes both ends
	want := "authz:POST check > authz:operation.check > authz:storage.ReadAccess > authz.plugin.main:plugin.ReadAccess"
	paths, whole := c.of(kept)
	if !slices.Contains(paths, want) {
		t.Errorf("the trace is\n%s\nwithout\n%s", strings.Join(paths, "\n"), want)
	}
	if len(c.spans) != len(paths) {
		t.Errorf("%d spans arrived, %d of the trace that was to be kept", len(c.spans), len(paths))
	}
	if !strings.Contains(whole, "req-7") {
		t.Error("no span names the request id")
	}
	for _, hidden := range []string{testSecret, "query-secret", "u3"} {
		if strings.Contains(whole, hidden) {
			t.Errorf("a span tells %q", hidden)
		}
	}
}

func TestRequestsAreSampledWhereTheCallerKeepsNoTrace(t *testing.T) {
	c := newCollector(t)
	h, _, _ := watchedHost(t, "tracing: {endpoint: \""+c.address+"\", insecure: true, sample: 1}\n")
	ask(t, h, "ping", `{}`)
	closeHost(t, h)
	if len(c.spans) != 4 { // of the request, its operation, and the read of the authority here and in the plugin
		t.Errorf("%d spans", len(c.spans))
	}
}

func TestACollectorThatIsNotThereHoldsNothingUp(t *testing.T) {
	h, _, _ := watchedHost(t, "tracing: {endpoint: \"127.0.0.1:1\", insecure: true, sample: 1}\n")
	began := time.Now()
	for range 20 {
		if answer, text := ask(t, h, "ping", `{}`); answer.StatusCode != 200 {
			t.Fatal(text)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("20 pings took %s", took)
	}
}

func TestMetricsTellWhatHappened(t *testing.T) {
	h, _, _ := watchedHost(t, "")
	ask(t, h, "check", readCheck)
	ask(t, h, "check", readCheck)
	ask(t, h, "check", `{}`)
	ask(t, h, "no-such-operation-"+strings.Repeat("x", 50), `{}`)
	scrape := func() string {
		answer, err := http.Get("http://" + h.OpsAddress() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, want := range []string{
		`authz_http_requests_total{app="docs",op="check",status="200"} 2`,
		`authz_http_requests_total{app="docs",op="check",status="422"} 1`,
		`authz_http_requests_total{app="",op="",status="404"} 1`,
		`authz_http_request_duration_seconds_count{app="docs",op="check"} 3`,
		`authz_checks_total{app="docs",decision="deny",external="",fresh="false",gate="true",implied="false",permission="docs.files.read",scope_type="*",shape="can",snapshot="false"} 2`,
		`authz_cache_hits_total{app="docs",cache="subjects"} 1`,
		`authz_cache_misses_total{app="docs",cache="subjects"} 1`,
		`authz_cache_entries{app="docs",cache="subjects"} 1`,
		`authz_plugin_state{plugin="main",state="running"} 1`,
		`authz_plugin_state{plugin="main",state="stopped"} 0`,
		`authz_plugin_restarts_total{plugin="main"} 0`,
		`authz_storage_call_duration_seconds_count{app="docs",call="ReadAccess",outcome="ok"} 1`,
		`authz_storage_ready{app="docs"} 1`,
		`authz_events_lag{app="docs"} 0`,
		`authz_events_look_failures_total{app="docs"} 0`,
		`authz_ready 1`,
		`authz_build_info{version="v9"} 1`,
		`go_goroutines `,
	} {
		eventually(t, want, func() bool { return strings.Contains(scrape(), want) })
	}
	if text := scrape(); strings.Contains(text, "no-such-operation") || strings.Contains(text, testSecret) {
		t.Error("a metric holds what a caller sent")
	}
	if answer, _ := http.Get("http://" + h.Address() + "/metrics"); answer.StatusCode != 404 {
		t.Errorf("the public listener answers /metrics with %d", answer.StatusCode)
	}
}

func TestTheAccessLogTellsRequestsAndNoSecrets(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			h, access, log := watchedHost(t, "log: {format: "+format+"}\n")
			answer, _ := ask(t, h, "check", readCheck, "X-Request-Id", "abc-1")
			if got := answer.Header.Get("X-Request-Id"); got != "abc-1" {
				t.Errorf("the answer's id is %q", got)
			}
			answer, _ = ask(t, h, "check", `{"principal":{"userId":"hidden-user"}}`, "X-Request-Id", "has blanks \"and quotes\"", "Authorization", "Bearer wrong-secret-0123456789")
			made := answer.Header.Get("X-Request-Id")
			if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(made) {
				t.Errorf("an insane id was answered as %q", made)
			}
			closeHost(t, h)
			lines := strings.Split(strings.TrimSpace(access.String()), "\n")
			if len(lines) != 2 {
				t.Fatalf("%d lines:\n%s", len(lines), access)
			}
			if format == "json" {
				var line map[string]any
				if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
					t.Fatal(err)
				}
				for member, want := range map[string]any{"@level": "info", "@message": "request", "method": "POST", "path": "/v1/check",
					"app": "docs", "op": "check", "status": 200.0, "bytes": 17.0, "request_id": "abc-1"} {
					if line[member] != want {
						t.Errorf("%s is %v", member, line[member])
					}
				}
				if took, _ := line["duration_ms"].(float64); took <= 0 {
					t.Errorf("the duration is %v", line["duration_ms"])
				}
				if remote, _ := line["remote"].(string); !strings.HasPrefix(remote, "127.0.0.1:") {
					t.Errorf("the peer is %q", remote)
				}
			} else if !regexp.MustCompile(`^\S+ \[INFO\]  authz.access: request: method=POST path=/v1/check app=docs op=check status=200 bytes=17 duration_ms=[0-9.]+ request_id=abc-1 remote=127.0.0.1:\d+$`).MatchString(lines[0]) {
				t.Error(lines[0])
			}
			if !strings.Contains(lines[1], made) || !strings.Contains(lines[1], "401") {
				t.Error(lines[1])
			}
			for _, hidden := range []string{testSecret, "wrong-secret", "query-secret", "hidden-user", "u1"} {
				if strings.Contains(access.String()+log.String(), hidden) {
					t.Errorf("a log tells %q", hidden)
				}
			}
		})
	}
}

func TestTheAccessLogIsSilentWhenAskedTo(t *testing.T) {
	for _, extra := range []string{"log: {access: false}\n", "log: {level: warn}\n"} {
		log := &testlog.Log{}
		access := &testlog.Log{}
		cfg := configure(t, extra)
		h, err := host.Open(t.Context(), cfg, host.Options{AccessLog: access,
			Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.LevelFromString(cfg.Log.Level)})})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, h, "ping", `{}`)
		closeHost(t, h)
		if text := access.String(); text != "" {
			t.Errorf("%s: %s", extra, text)
		}
	}
}
