package hosted

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/host/service/secret"
)

func TestAFirstDayGoesThrough(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	me := owner.call("GET", "/orgs/acme/me", "").want(t, 200, "")
	if me.at("orgRoot", "reachable") != true || me.text("caller", "kind") != "session" {
		t.Errorf("me: %s", me.raw)
	}
	made := owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","pattern":"docs.admin.read"}`).want(t, 201, "")
	if want := w.server.URL + "/api/v1/orgs/acme/org/grants/" + made.text("grant", "id"); made.header.Get("Location") != want {
		t.Errorf("Location is %q, want %q", made.header.Get("Location"), want)
	}
	seat := owner.call("POST", "/orgs/acme/seats", `{"userId":"u_7","kind":"portal"}`).want(t, 201, "")
	if seat.text("seat", "state") != "invited" || seat.header.Get("Location") != w.server.URL+"/api/v1/orgs/acme/seats/u_7" {
		t.Errorf("seat: %s, %v", seat.raw, seat.header)
	}
	bot := owner.key(`{"kind":"principal","name":"ci","serviceId":"ci"}`)
	if r := bot.call("POST", "/orgs/acme/evaluate", `{"key":["cloud.seats.read"]}`).want(t, 200, ""); r.at("allowed") != false {
		t.Errorf("evaluate: %s", r.raw)
	}
	owner.call("POST", "/auth/sign-out", "{}").want(t, 204, "")
	owner.call("GET", "/auth/session", "").want(t, 401, "session_expired")
}

func TestEveryAnswerCarriesTheHeadersOfTheChapter(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for name, r := range map[string]reply{
		"success":      owner.call("GET", "/orgs/acme", ""),
		"error":        owner.call("GET", "/orgs/nowhere", ""),
		"no route":     owner.call("GET", "/nothing", ""),
		"no method":    owner.call("TRACE", "/orgs", ""),
		"preflight":    caller{w: w}.with("Origin", "https://evil.example").with("Access-Control-Request-Method", "POST").call("OPTIONS", "/orgs", ""),
		"foreign page": caller{w: w}.with("Origin", "https://evil.example").call("GET", "/openapi.json", ""),
		"public":       caller{w: w}.call("GET", "/openapi.json", ""),
		"no content":   owner.call("POST", "/auth/sign-out", "{}"),
	} {
		for header, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Strict-Transport-Security": ""} {
			if got := r.header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
		for _, header := range []string{"X-Request-Id", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"} {
			if r.header.Get(header) == "" {
				t.Errorf("%s: no %s", name, header)
			}
		}
		for header := range r.header {
			if strings.HasPrefix(header, "Access-Control-") || header == "Server" || header == "X-Powered-By" {
				t.Errorf("%s: %s was sent", name, header)
			}
		}
		if id := r.text("error", "requestId"); r.status >= 400 && id != r.header.Get("X-Request-Id") {
			t.Errorf("%s: the body says request %q, the header %q", name, id, r.header.Get("X-Request-Id"))
		}
	}
	if id := owner.with("X-Request-Id", "chosen").call("GET", "/orgs", "").header.Get("X-Request-Id"); id == "chosen" {
		t.Error("a client chose its request id")
	}
	var logged string
	w.server.Config.Handler = api.NewObserved(w.api, api.ObserveOptions{Done: func(a *api.Answered) { logged = a.RequestID }})
	if r := (caller{w: w}).with("X-Request-Id", "chosen").call("GET", "/orgs", "").want(t, 401, "credential_missing"); r.text("error", "requestId") != logged || r.header.Get("X-Request-Id") != logged {
		t.Errorf("the access log has %s, the answer %s", logged, r.raw)
	}
}

func TestACookieIsNotEnough(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	invite := `{"userId":"u_9"}`
	refused := map[string]caller{
		"no token":        owner.with("X-Authz-Csrf"),
		"another's token": owner.with("X-Authz-Csrf", w.signIn("acme").csrf),
		"two tokens":      owner.with("X-Authz-Csrf", owner.csrf, owner.csrf),
		"foreign origin":  owner.with("Origin", "https://evil.example"),
		"null origin":     owner.with("Origin", "null"),
		"no origin":       owner.with("Origin"),
		"two origins":     owner.with("Origin", w.server.URL, w.server.URL),
		"prefix origin":   owner.with("Origin", w.server.URL+".evil.example"),
		"same site only":  owner.with("Origin").with("Sec-Fetch-Site", "same-site"),
	}
	for name, c := range refused {
		t.Run(name, func(t *testing.T) { c.call("POST", "/orgs/acme/seats", invite).want(t, 403, "csrf_failed") })
	}
	owner.with("Origin").with("Sec-Fetch-Site", "same-origin").call("POST", "/orgs/acme/seats", invite).want(t, 201, "")
	owner.with("X-Authz-Csrf").with("Origin", "https://evil.example").call("GET", "/orgs/acme/seats", "").want(t, 200, "")
	sign := `{"org":"acme","userId":"` + testUser + `","proof":{"kind":"bootstrap","secret":"` + testSecret + `"}}`
	caller{w: w}.call("POST", "/auth/sign-in", sign).want(t, 403, "csrf_failed")
}

func TestCredentialsAreReadOneWayOnly(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	admin := owner.key(`{"kind":"admin","name":"a"}`)
	for name, c := range map[string]caller{
		"two headers":         admin.with("Authorization", "Bearer "+admin.bearer, "Bearer "+admin.bearer),
		"another scheme":      admin.with("Authorization", "Basic "+admin.bearer),
		"no scheme":           admin.with("Authorization", admin.bearer),
		"empty":               owner.with("Authorization", ""),
		"a typo":              admin.with("Authorization", "Bearer "+admin.bearer[:len(admin.bearer)-1]+"!"),
		"a session as bearer": owner.with("Authorization", "Bearer "+owner.cookie),
		"bearer beats cookie": owner.with("Authorization", "Bearer authz_adm_aaaaaaaaaaaaaaaa_x"),
		"two cookies":         owner.with("Cookie", "authz_session="+owner.cookie+"; authz_session="+owner.cookie),
	} {
		t.Run(name, func(t *testing.T) {
			r := c.call("GET", "/orgs/acme", "").want(t, 401, "credential_invalid")
			if r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Error("no WWW-Authenticate")
			}
		})
	}
	caller{w: w}.call("GET", "/orgs/acme", "").want(t, 401, "credential_missing")
	caller{w: w}.with("Cookie", "authz_session=x; other=1").call("GET", "/orgs/acme", "").want(t, 401, "credential_invalid")
	caller{w: w}.call("GET", "/orgs/acme?access_token="+admin.bearer, "").want(t, 401, "credential_missing")
	admin.call("GET", "/orgs/acme", "").want(t, 200, "")
	admin.call("GET", "/orgs/acme/me", "").want(t, 200, "")
}

func TestSequencesOfHTTPThatMeanTwoThingsAreRefused(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	big := strings.Repeat("a", 20<<10)
	for name, c := range map[string]struct {
		text   string
		status string
	}{
		"two lengths":               {"POST /api/v1/auth/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", "400"},
		"length and chunks, hidden": {"POST /api/v1/auth/sign-in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "501"},
		"a space before the colon":  {"GET /api/v1/orgs HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer x\r\n\r\n", "400"},
		"a folded header":           {"GET /api/v1/orgs HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n", "401"},
		"no host":                   {"GET /api/v1/orgs HTTP/1.1\r\n\r\n", "400"},
		"two hosts":                 {"GET /api/v1/orgs HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400"},
		"a control in a header":     {"GET /api/v1/orgs HTTP/1.1\r\nHost: x\r\nX-A: \x01\r\n\r\n", "400"},
		"a huge header":             {"GET /api/v1/orgs HTTP/1.1\r\nHost: x\r\nX-A: " + big + "\r\n\r\n", "431"},
		"many headers":              {"GET /api/v1/orgs HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: "+big[:100]+"\r\n", 200) + "\r\n", "431"},
		"a long URL":                {"GET /api/v1/orgs?x=" + big[:9<<10] + " HTTP/1.1\r\nHost: x\r\n\r\n", "413"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(c.text)); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "HTTP/1.1 "+c.status) {
				t.Errorf("answered %q, %v; want %s", line, err, c.status)
			}
		})
	}
	for _, header := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		owner.with(header, "DELETE").call("GET", "/orgs/acme/seats", "").want(t, 200, "")
	}
	owner.call("GET", "/orgs?_method=DELETE", "").want(t, 400, "invalid_parameter")
	owner.with("X-Forwarded-Host", "evil.example").with("X-Forwarded-Proto", "https").call("GET", "/orgs/acme", "").want(t, 200, "")
	made := owner.with("X-Forwarded-Host", "evil.example").with("Host", "evil.example").call("POST", "/orgs/acme/seats", `{"userId":"u_1"}`).want(t, 201, "")
	if !strings.HasPrefix(made.header.Get("Location"), w.server.URL) {
		t.Errorf("Location follows a header of the client: %s", made.header.Get("Location"))
	}
}

func TestBodiesThatAreNoneAreRefusedBeforeAnythingIsDone(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	post := func(c caller, body string) reply { return c.call("POST", "/orgs/acme/seats", body) }
	post(owner.with("Content-Type", "text/plain"), `{"userId":"u"}`).want(t, 415, "unsupported_media_type")
	post(owner.with("Content-Type", "application/json; charset=latin1"), `{"userId":"u"}`).want(t, 415, "unsupported_media_type")
	post(owner.with("Content-Type", "application/json", "application/json"), `{"userId":"u"}`).want(t, 415, "unsupported_media_type")
	post(owner.with("Content-Encoding", "gzip"), `{"userId":"u"}`).want(t, 415, "unsupported_media_type")
	post(owner, `{"userId":"u","userId":"v"}`).want(t, 400, "invalid_request")
	post(owner, strings.Repeat("[", 100_000)).want(t, 400, "invalid_request")
	post(owner, `{"userId":"u","kind":{"a":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`}}`).want(t, 400, "invalid_request")
	post(owner, `{"userId":"`+strings.Repeat("a", 1<<20)+`"}`).want(t, 413, "payload_too_large")
	owner.call("GET", "/orgs/acme/seats", `{"a":1}`).want(t, 400, "invalid_request")
	owner.call("DELETE", "/orgs/acme/seats/u", `{"a":1}`).want(t, 400, "invalid_request")
	owner.with("Accept", "text/html").call("GET", "/orgs/acme", "").want(t, 406, "not_acceptable")
	if r := owner.call("GET", "/orgs/acme/seats", ""); len(r.at("seats").([]any)) != 1 {
		t.Errorf("something was done: %s", r.raw)
	}
}

func TestConditionalRequests(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	first := owner.call("GET", "/orgs/acme", "").want(t, 200, "").header.Get("ETag")
	if first == "" {
		t.Fatal("no ETag")
	}
	for _, header := range []string{first, "W/" + first, `"x", ` + first, "*"} {
		if r := owner.with("If-None-Match", header).call("GET", "/orgs/acme", ""); r.status != 304 || len(r.raw) > 0 {
			t.Errorf("If-None-Match %s: %d %s", header, r.status, r.raw)
		}
	}
	owner.with("If-None-Match", `"x"`).call("GET", "/orgs/acme", "").want(t, 200, "")
	owner.with("If-Match", `"x"`).call("PATCH", "/orgs/acme", `{"name":"B"}`).want(t, 409, "precondition_failed")
	owner.with("If-Match", "W/"+first).call("PATCH", "/orgs/acme", `{"name":"B"}`).want(t, 409, "precondition_failed") // RFC 9110 §13.1.1
	owner.with("If-Match", first).call("PATCH", "/orgs/acme", `{"name":"B"}`).want(t, 200, "")
	owner.with("If-Match", first).call("PATCH", "/orgs/acme", `{"name":"C"}`).want(t, 409, "precondition_failed")
	owner.with("If-Match", "*").call("PATCH", "/orgs/acme", `{"name":"C"}`).want(t, 200, "")

	etag := owner.call("GET", "/orgs/acme", "").header.Get("ETag")
	var won sync.Map
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r := owner.with("If-Match", etag).call("PATCH", "/orgs/acme", fmt.Sprintf(`{"name":"N%d"}`, i))
			won.Store(i, r.status)
		})
	}
	wg.Wait()
	counts := map[int]int{}
	won.Range(func(_, status any) bool { counts[status.(int)]++; return true })
	if diff := cmp.Diff(map[int]int{200: 1, 409: 19}, counts); diff != "" {
		t.Errorf("of 20 who changed what they had read, one may win: %s", diff)
	}
}

func TestFiftyEqualRequestsMakeOneObject(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	c := owner.with("Idempotency-Key", "once")
	body := `{"kind":"principal","name":"ci","serviceId":"ci"}`
	var mu sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			r := c.call("POST", "/orgs/acme/api-keys", body)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.status == 201 && r.header.Get("Idempotency-Replayed") == "" && r.text("secret") != "":
				counts["made"]++
			case r.status == 201 && r.header.Get("Idempotency-Replayed") == "true" && r.at("secret") == nil && r.at("secretWithheld") == true:
				counts["replayed or running"]++
			case r.code() == "idempotency_in_progress":
				counts["replayed or running"]++
			default:
				t.Errorf("answered %d %s", r.status, r.raw)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]int{"made": 1, "replayed or running": 49}, counts); diff != "" {
		t.Error(diff)
	}
	replay := c.call("POST", "/orgs/acme/api-keys", body).want(t, 201, "")
	if replay.header.Get("Idempotency-Replayed") != "true" || replay.header.Get("Location") == "" || replay.at("secretWithheld") != true {
		t.Errorf("replay: %s %v", replay.raw, replay.header)
	}
	if r := owner.call("GET", "/orgs/acme/api-keys", ""); len(r.at("apiKeys").([]any)) != 1 {
		t.Errorf("made more than one: %s", r.raw)
	}
	c.call("POST", "/orgs/acme/api-keys", `{"kind":"principal","name":"other","serviceId":"ci"}`).want(t, 409, "idempotency_conflict")
	for _, bad := range []string{"", strings.Repeat("a", 256), "é"} {
		owner.with("Idempotency-Key", bad).call("POST", "/orgs/acme/api-keys", body).want(t, 400, "invalid_idempotency_key")
	}
	owner.with("Idempotency-Key", "a", "b").call("POST", "/orgs/acme/api-keys", body).want(t, 400, "invalid_idempotency_key")

	refused := owner.with("Idempotency-Key", "refused")
	refused.call("POST", "/orgs/acme/seats", `{"userId":"`+testUser+`"}`).want(t, 409, "seat_exists")
	if r := refused.call("POST", "/orgs/acme/seats", `{"userId":"`+testUser+`"}`).want(t, 409, "seat_exists"); r.header.Get("Idempotency-Replayed") != "true" {
		t.Error("a refusal is an answer as well")
	}
	w.clock.Add(idempotencyLifetimeMs)
	again := w.signIn("acme").with("Idempotency-Key", "once")
	if r := again.call("POST", "/orgs/acme/api-keys", body).want(t, 201, ""); r.header.Get("Idempotency-Replayed") != "" {
		t.Error("an answer of yesterday was given again")
	}
}

func TestListsArePagedWithoutHolesOrDoubles(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	want := map[string]bool{testUser: true}
	for i := range 7 {
		id := fmt.Sprintf("u_%d", i)
		want[id] = true
		owner.call("POST", "/orgs/acme/seats", `{"userId":"`+id+`"}`).want(t, 201, "")
	}
	got := map[string]bool{}
	path := "/orgs/acme/seats?limit=3"
	cursor := ""
	for range 4 {
		r := owner.call("GET", path+cursor, "").want(t, 200, "")
		for _, s := range r.at("seats").([]any) {
			id := s.(map[string]any)["userId"].(string)
			if got[id] {
				t.Errorf("%s was listed twice", id)
			}
			got[id] = true
		}
		next := r.text("nextCursor")
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
		owner.call("GET", "/orgs/acme/seats?kind=owner"+cursor, "").want(t, 400, "invalid_cursor")
		owner.call("GET", "/orgs/acme/api-keys?limit=3"+cursor, "").want(t, 400, "invalid_cursor")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTooManyRequestsAreRefusedWithWhenToComeBack(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	bad := caller{w: w, bearer: "nonsense"}
	for range rateBadCredential.PerMinute {
		bad.call("GET", "/orgs", "").want(t, 401, "credential_invalid")
	}
	r := bad.call("GET", "/orgs", "").want(t, 429, "rate_limited")
	if r.header.Get("Retry-After") != "1" || r.text("error", "bucket") != "bad_credentials" || r.header.Get("Ratelimit-Remaining") != "0" {
		t.Errorf("%v %s", r.header, r.raw)
	}
	_, unknown := secret.NewToken(secret.PrefixAdmin)
	caller{w: w, bearer: unknown}.call("GET", "/orgs", "").want(t, 429, "rate_limited")
	// The good ones of the same address are none of them.
	owner.call("GET", "/orgs", "").want(t, 200, "")
	owner.key(`{"kind":"admin","name":"a"}`).call("GET", "/orgs/acme", "").want(t, 200, "")
	caller{w: w}.with("Cookie", "authz_session=nonsense").call("GET", "/orgs", "").want(t, 401, "credential_invalid")
	w.clock.Add(60_000)
	owner.call("GET", "/orgs", "").want(t, 200, "")
	for range rateWrites.PerMinute {
		if r = owner.call("POST", "/orgs/acme/seats", `{}`); r.status == http.StatusTooManyRequests {
			break
		}
	}
	owner.call("POST", "/orgs/acme/seats", `{}`).want(t, 429, "rate_limited")
	owner.call("GET", "/orgs/acme/seats", "").want(t, 200, "")
}

func TestAServiceThatMayChangeSeatsChangesThem(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_7"}`).want(t, 201, "")
	bot := owner.key(`{"kind":"principal","name":"hr","serviceId":"hr"}`)
	bot.call("PATCH", "/orgs/acme/seats/u_7", `{"displayName":"Seven"}`).want(t, 403, "forbidden")
	bot.call("PATCH", "/orgs/acme/seats/absent", `{"displayName":"Seven"}`).want(t, 403, "forbidden")
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"service:hr","pattern":"cloud.seats.update_seat"}`).want(t, 201, "")
	if r := bot.call("PATCH", "/orgs/acme/seats/u_7", `{"displayName":"Seven"}`).want(t, 200, ""); r.text("seat", "displayName") != "Seven" {
		t.Errorf("the seat: %s", r.raw)
	}
	bot.call("PATCH", "/orgs/acme/seats/u_7", `{"kind":"owner"}`).want(t, 403, "owner_required")
}

// What is too large is told as everything else is, over both versions of HTTP.
func TestHeadersAndURLsUpToTheirBoundsPassAndLargerOnesAreAnswered(t *testing.T) {
	w := newWorld(t)
	public, err := api.NewPublicHandler(api.PublicOptions{Hosted: w.api, Ready: func() bool { return true }})
	w.must(err)
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(nil)
		server.Config, err = listen.NewServer(listen.ServerOptions{Handler: public})
		w.must(err)
		server.EnableHTTP2 = http2
		server.StartTLS()
		for _, c := range []struct {
			header, query int
			status        int
			code          string
		}{
			{13_000, 0, 401, "credential_missing"}, {16_000, 7_000, 401, "credential_missing"},
			{16_500, 0, 431, "headers_too_large"}, {30_000, 0, 431, "headers_too_large"},
			{0, 9_000, 413, "payload_too_large"}, {0, 30_000, 413, "payload_too_large"},
		} {
			r, err := http.NewRequest("GET", server.URL+base+"/orgs?limit="+strings.Repeat("1", c.query), nil)
			w.must(err)
			r.Header.Set("X-Fill", strings.Repeat("x", c.header))
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Errorf("HTTP/2 %v, %+v: %v", http2, c, err)
				continue
			}
			var told struct {
				Error struct{ Code, RequestID string }
			}
			err = json.NewDecoder(answer.Body).Decode(&told)
			answer.Body.Close()
			if err != nil || answer.StatusCode != c.status || told.Error.Code != c.code || told.Error.RequestID == "" || answer.ProtoMajor == 2 != http2 {
				t.Errorf("%s %+v: %d %+v, %v", answer.Proto, c, answer.StatusCode, told, err)
			}
		}
		server.Close()
	}
}

// A change that names nothing to change is refused, before the gate as every other
// body that is none, and leaves etag and log alone.
func TestAChangeOfNothingIsRefused(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	role := owner.call("POST", "/orgs/acme/org/roles", `{"name":"r","patterns":["docs.admin.read"]}`).want(t, 201, "").text("role", "id")
	group := owner.call("POST", "/orgs/acme/org/groups", `{"name":"g"}`).want(t, 201, "").text("group", "id")
	before := owner.call("GET", "/orgs/acme", "").text("org", "etag")
	paths := []string{"/orgs/acme", "/orgs/acme/seats/" + testUser, "/orgs/acme/org/roles/" + role, "/orgs/acme/org/groups/" + group}
	for _, path := range paths {
		for _, body := range []string{`{}`, "", `{"name":null}`} {
			if body != "" && strings.Contains(path, "/seats/") {
				body = strings.Replace(body, "name", "displayName", 1)
			}
			r := owner.call("PATCH", path, body).want(t, 400, "invalid_request")
			if !strings.Contains(r.text("error", "message"), "changes nothing") {
				t.Errorf("%s %q: %s", path, body, r.raw)
			}
		}
	}
	if after := owner.call("GET", "/orgs/acme", "").text("org", "etag"); after != before {
		t.Errorf("the org's etag moved from %s to %s", before, after)
	}
	for action, target := range map[string]string{"org.update": "acme", "seat.update": testUser} {
		if r := owner.call("GET", "/orgs/acme/audit?action="+action+"&target="+target, ""); len(r.at("events").([]any)) != 0 {
			t.Errorf("%s is in the log: %s", action, r.raw)
		}
	}
	owner.call("PATCH", "/orgs/acme/org/roles/"+role, `{"description":null}`).want(t, 200, "") // null has a meaning there
	n := 0
	for _, e := range endpoints().list {
		if e.Method == "PATCH" {
			n++
		}
	}
	if n != len(paths) {
		t.Errorf("there are %d such endpoints, of which %d are tried here", n, len(paths))
	}
}
