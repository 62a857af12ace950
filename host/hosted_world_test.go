package host_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/streamtest"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/internal/testprocess"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

const (
	bootUser   = "u_root"
	bootSecret = "a-bootstrap-secret-of-more-than-32-characters"
	otherUser  = "u_two"
)

// hostedFiles writes a host key and the bootstrap secret, for hostedLines.
func hostedFiles(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	write(t, filepath.Join(dir, "key"), base64.StdEncoding.EncodeToString(key))
	write(t, filepath.Join(dir, "bootstrap"), bootSecret)
	return dir
}

// hostedLines configure the hosted service, where the org acme may link this
// host's docs, and loopback counts as public.
func hostedLines(files, user string) string {
	return `
log: {access: true}
service:
  host_keys: ["file:` + files + `/key"]
  bootstrap: {user_id: ` + user + `, secret: "file:` + files + `/bootstrap"}
  relay: {allowed_networks: [127.0.0.1]}
  local: {acme: [docs]}
`
}

var builtPlugins sync.Map

// buildPlugin makes a plugin's binary, once for all tests.
func buildPlugin(t testing.TB, name string) {
	t.Helper()
	if _, built := builtPlugins.Load(name); built {
		return
	}
	folder := "plugins/" + name
	if name == "scripted" {
		folder = "host/testdata/importer"
	}
	if err := testprocess.BuildAs(filepath.Join(plugins, "authz-plugin-"+name), folder); err != nil {
		t.Fatal(err)
	}
	builtPlugins.Store(name, true)
}

// testClock is the wall clock, which a test may put ahead.
type testClock struct{ ahead atomic.Int64 }

func (c *testClock) now() int64           { return time.Now().UnixMilli() + c.ahead.Load() }
func (c *testClock) pass(d time.Duration) { c.ahead.Add(d.Milliseconds()) }

// hostedHost is a host whose hosted API is called over HTTP.
type hostedHost struct {
	*host.Host
	log, access *testlog.Log
}

func openHosted(t testing.TB, cfg *config.Config, clock *testClock) *hostedHost {
	t.Helper()
	o := &hostedHost{log: &testlog.Log{}, access: &testlog.Log{}}
	var err error
	o.Host, err = host.Open(t.Context(), cfg, host.Options{Version: "test", Clock: clock.now, AccessLog: o.access,
		Logger: hclog.New(&hclog.LoggerOptions{Output: o.log, Level: hclog.Debug})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, o.Host) })
	return o
}

// postgres is of one more host over the database.
func (p *hostedPair) postgres(t testing.TB, user string) *config.Config {
	t.Helper()
	return overPostgres(configure(t, hostedLines(p.files, user)), p.dsn)
}

func overPostgres(cfg *config.Config, dsn string) *config.Config {
	edit(cfg, func(p *config.Plugin) {
		p.Plugin, p.Config = "postgres", config.NewSettings(map[string]any{"dsn": dsn, "lease": "1s"})
	})
	return cfg
}

// hostedPair are two hosts over one database. The bootstrap user of a is the owner
// of acme, that of b another owner.
type hostedPair struct {
	clock testClock
	dsn   string
	files string
	a, b  *hostedHost
	owner visitor // at a
	other visitor // at b
}

func openPair(t testing.TB) *hostedPair {
	t.Helper()
	p := &hostedPair{dsn: postgrestest.Database(t)}
	buildPlugin(t, "postgres")
	p.files = hostedFiles(t)
	p.a = openHosted(t, p.postgres(t, bootUser), &p.clock)
	p.b = openHosted(t, p.postgres(t, otherUser), &p.clock)
	p.owner = p.a.acme(t)
	p.invite()
	p.other = p.b.signIn(t, "acme", otherUser)
	return p
}

func (p *hostedPair) invite() {
	p.owner.must(201, "POST", "/orgs/acme/seats", `{"userId":"`+otherUser+`","kind":"owner"}`)
}

// visitor calls the API with one credential.
type visitor struct {
	t      testing.TB
	at     string // the host's origin
	cookie string
	csrf   string
	bearer string
	heard  *hearing // nil: nobody listens
}

// answer is what the API said.
type answer struct {
	status int
	header http.Header
	raw    []byte
}

// text is a string within the answer.
func (a answer) text(path ...string) string {
	var v any
	_ = json.Unmarshal(a.raw, &v) // 204 is none
	for _, name := range path {
		m, _ := v.(object)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}

func (a answer) code() string { return a.text("error", "code") }

// list is a list of objects within the answer.
func (a answer) list(name string) (rows []object) {
	var v map[string]json.RawMessage
	_ = json.Unmarshal(a.raw, &v)
	_ = json.Unmarshal(v[name], &rows)
	return rows
}

var apiTransport = &http.Transport{MaxIdleConnsPerHost: 64}

// call sends a request; headers are names and values.
func (v visitor) call(method, path, body string, headers ...string) answer {
	a, err := v.try(method, path, body, headers...)
	if err != nil {
		v.t.Errorf("%s %s: %v", method, path, err)
	}
	return a
}

func (v visitor) try(method, path, body string, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.at+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodGet && v.bearer == "" {
		r.Header.Set("Origin", v.at)
	}
	if v.cookie != "" {
		r.Header.Set("Cookie", "authz_session="+v.cookie)
		r.Header.Set("X-Authz-Csrf", v.csrf)
	}
	if v.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+v.bearer)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := apiTransport.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	a := answer{status: got.StatusCode, header: got.Header}
	if a.raw, err = streamtest.Body(got); err == nil && v.heard != nil {
		v.heard.take(method+" "+path, a)
	}
	return a, err
}

// must is a call that succeeds with the status.
func (v visitor) must(status int, method, path, body string, headers ...string) answer {
	v.t.Helper()
	a := v.call(method, path, body, headers...)
	if a.status != status {
		v.t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.raw, status)
	}
	return a
}

// refused is a call that fails with the status and code.
func (v visitor) refused(status int, code, method, path, body string, headers ...string) answer {
	v.t.Helper()
	a := v.call(method, path, body, headers...)
	if a.status != status || a.code() != code {
		v.t.Errorf("%s %s: %d %s, want %d %s", method, path, a.status, a.raw, status, code)
	}
	return a
}

// elsewhere is the same credential at another host.
func (v visitor) elsewhere(h *hostedHost) visitor {
	v.at = "http://" + h.Address()
	return v
}

func (v visitor) with(bearer string) visitor {
	return visitor{t: v.t, at: v.at, bearer: bearer, heard: v.heard}
}

// key makes an API key, and answers its id and who calls with it.
func (v visitor) key(body string) (string, visitor) {
	v.t.Helper()
	a := v.must(201, "POST", "/orgs/acme/api-keys", body)
	return a.text("apiKey", "id"), v.with(a.text("secret"))
}

func (h *hostedHost) visitor(t testing.TB) visitor { return visitor{t: t}.elsewhere(h) }

func signInBody(org, user, secret string) string {
	body := `{"userId":"` + user + `","proof":{"kind":"bootstrap","secret":"` + secret + `"}}`
	if org != "" {
		body = `{"org":"` + org + `",` + body[1:]
	}
	return body
}

func (h *hostedHost) signIn(t testing.TB, org, user string) visitor {
	t.Helper()
	return h.visitor(t).signIn(org, user)
}

func (v visitor) signIn(org, user string) visitor {
	v.t.Helper()
	a := v.must(200, "POST", "/auth/sign-in", signInBody(org, user, bootSecret))
	v.cookie, v.csrf = (&http.Response{Header: a.header}).Cookies()[0].Value, a.text("csrfToken")
	return v
}

// acme makes the org, whose owner may do everything at its root, this host's docs.
func (h *hostedHost) acme(t testing.TB) visitor {
	t.Helper()
	h.signIn(t, "", bootUser).must(201, "POST", "/orgs", `{"id":"acme","name":"Acme","ownerUserId":"`+bootUser+`"}`)
	owner := h.signIn(t, "acme", bootUser)
	owner.must(201, "POST", "/orgs/acme/applications", `{"id":"docs","name":"Docs","namespaces":["docs"]}`)
	owner.must(200, "POST", "/orgs/acme/applications/docs/link", `{"relayUrl":"local:docs"}`)
	call(t, caller(h.Host), "createGrant", object{"input": object{"subject": "user:" + bootUser, "pattern": "*", "provenance": root}})
	return owner
}

// together makes n calls at once and answers what they were told.
func together(n int, one func(i int) answer) []answer {
	out := make([]answer, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			// A host that is too busy says when to come again, and that nothing was done.
			// Whoever comes again too often for a bucket is told the same.
			busy := func(a answer) bool { return a.status == 503 || a.status == 429 }
			for out[i] = one(i); busy(out[i]) && out[i].header.Get("Retry-After") != ""; out[i] = one(i) {
				time.Sleep(time.Second)
			}
		})
	}
	close(start)
	all.Wait()
	return out
}

// tally counts answers by status, with the code of errors.
func tally(answers []answer) map[string]int {
	got := map[string]int{}
	for _, a := range answers {
		got[strings.TrimSpace(http.StatusText(a.status)+" "+a.code())]++
	}
	return got
}

// hearing keeps all answers, to be searched.
type hearing struct {
	mu      sync.Mutex
	answers []heardAnswer
}

type heardAnswer struct {
	endpoint string
	text     []byte // headers and body
}

func (h *hearing) take(endpoint string, a answer) {
	var text bytes.Buffer
	_ = a.header.Write(&text) // a buffer takes everything
	text.Write(a.raw)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = append(h.answers, heardAnswer{endpoint, text.Bytes()})
}

// with are the endpoints whose answers hold the text.
func (h *hearing) with(text string) (endpoints []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.answers {
		if bytes.Contains(a.text, []byte(text)) {
			endpoints = append(endpoints, a.endpoint)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(endpoints)))
}
