package hosted

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// What a POST made is where its Location says, as it was answered, with an ETag that a
// conditional read matches.
func TestWhatWasMadeIsWhereItsLocationSays(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for _, made := range []struct{ path, body, member string }{
		{"org/roles", `{"id":"reader","name":"Reader","patterns":["docs.admin.read"]}`, "role"},
		{"org/roles", `{"id":"seats","name":"Seats","patterns":["cloud.seats.read"]}`, "role"},
		{"org/groups", `{"id":"eng","name":"Engineering"}`, "group"},
		{"org/grants", `{"subject":"group:eng","roleId":"reader"}`, "grant"},
		{"org/grants", `{"subject":"user:u_7","pattern":"cloud.seats.read"}`, "grant"},
		{"org/grants", `{"subject":"user:u_7","pattern":"docs.files.read","scope":"docs.doc:1"}`, "grant"},
		{"org/revokes", `{"userId":"u_7","pattern":"docs.admin.read"}`, "revoke"},
		{"org/revokes", `{"userId":"u_7","pattern":"docs.files.read","scope":"docs.doc:1"}`, "revoke"},
		{"applications/docs/grants", `{"subject":"user:u_8","pattern":"docs.files.read","scope":"docs.doc:2"}`, "grant"},
		{"applications/docs/revokes", `{"userId":"u_8","pattern":"docs.files.read","scope":"docs.doc:2"}`, "revoke"},
		{"seats", `{"userId":"u_7"}`, "seat"},
		{"api-keys", `{"kind":"principal","name":"ci","serviceId":"ci"}`, "apiKey"},
	} {
		t.Run(made.path+" "+made.body, func(t *testing.T) {
			w.t = t
			post := owner.call("POST", "/orgs/acme/"+made.path, made.body).want(t, 201, "")
			path, ours := strings.CutPrefix(post.header.Get("Location"), w.server.URL+base)
			if !ours {
				t.Fatalf("Location %q", post.header.Get("Location"))
			}
			got := owner.call("GET", path, "").want(t, 200, "")
			for _, member := range []string{made.member, "home"} {
				if want := post.at(member); want != nil && !reflect.DeepEqual(got.at(member), want) {
					t.Errorf("%s is %v, and was %v", member, got.at(member), want)
				}
			}
			etag := got.header.Get("ETag")
			if etag == "" {
				t.Fatal("no ETag")
			}
			owner.with("If-None-Match", etag).call("GET", path, "").want(t, 304, "")
			owner.with("If-None-Match", `"other"`).call("GET", path, "").want(t, 200, "")
		})
	}
	w.t = t
	for path, code := range map[string]string{"org/roles/x": "not_found", "org/groups/x": "not_found", "org/grants/x": "not_found", "org/revokes/x": "not_found",
		"org/grants/x?application=ghost": "application_not_found", "seats/u_x": "seat_not_found", "api-keys/x": "api_key_not_found"} {
		owner.call("GET", "/orgs/acme/"+path, "").want(t, 404, code)
	}
	global := owner.call("GET", "/orgs/acme/org/grants?subject=group:eng", "").at("grants").([]any)[0].(map[string]any)["id"].(string)
	owner.call("GET", "/orgs/acme/org/grants/"+global+"?application=docs", "").want(t, 400, "invalid_request")
	owner.call("DELETE", "/orgs/acme/seats/u_7", "").want(t, 204, "")
	if got := owner.call("GET", "/orgs/acme/seats/u_7", "").want(t, 200, ""); got.text("seat", "state") != "removed" {
		t.Errorf("a removed seat: %s", got.raw)
	}
}

func TestASeatsOwnGrantSaysSo(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	seat := owner.call("GET", "/orgs/acme/seats/"+testUser, "").want(t, 200, "")
	got := owner.call("GET", "/orgs/acme/org/explain?userId="+testUser+"&key=cloud.seats.read&scope=*", "").want(t, 200, "")
	grants, _ := got.at("matchedGrants").([]any)
	if len(grants) != 1 {
		t.Fatalf("%s", got.raw)
	}
	grant := grants[0].(map[string]any)
	if grant["id"] != "seat" || !reflect.DeepEqual(grant["provenance"], map[string]any{"kind": "seat"}) || grant["createdAt"] != seat.at("seat", "activatedAt") {
		t.Errorf("%s; the seat is %s", got.raw, seat.raw)
	}
	if paths, _ := got.at("paths").([]any); len(paths) != 1 || paths[0].(map[string]any)["grantId"] != "seat" || paths[0].(map[string]any)["pattern"] == nil {
		t.Errorf("no way from the seat to the key: %s", got.raw)
	}
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","pattern":"cloud.seats.read"}`).want(t, 201, "")
	denied := owner.call("GET", "/orgs/acme/org/explain?userId=u_7&key=cloud.seats.invite_seat&scope=*", "").want(t, 200, "")
	if near, _ := denied.at("near", "lacking").([]any); len(near) != 1 {
		t.Errorf("nothing came near: %s", denied.raw)
	}
	if roles, _ := denied.at("near", "roles").([]any); len(roles) != 2 || roles[0].(map[string]any)["roleId"] != "cloud_admin" {
		t.Errorf("the roles that would allow: %s", denied.raw)
	}
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","roleId":"cloud_admin"}`).want(t, 201, "")
	allowed := owner.call("GET", "/orgs/acme/org/explain?userId=u_7&key=cloud.seats.invite_seat&scope=*", "").want(t, 200, "")
	if allowed.at("allowed") != true {
		t.Errorf("the first of the roles does not allow: %s", allowed.raw)
	}
}

func TestListsAreCompressedForWhoAcceptsIt(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	rows := make([]string, 200)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"subject":"user:u_%d","pattern":"docs.admin.read"}`, i)
	}
	owner.call("POST", "/orgs/acme/org/grants/bulk", `{"grants":[`+strings.Join(rows, ",")+`]}`).want(t, 201, "")
	const list = "/orgs/acme/org/grants?limit=1000"
	plain := owner.with("Accept-Encoding", "identity").call("GET", list, "").want(t, 200, "")
	for accepted, coded := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "identity": "", "zstd": ""} {
		answer, err := http.DefaultTransport.RoundTrip(owner.with("Accept-Encoding", accepted).request("GET", list, ""))
		w.must(err)
		body, err := io.ReadAll(answer.Body)
		w.must(err)
		w.must(answer.Body.Close())
		if got := answer.Header.Get("Content-Encoding"); got != coded || answer.Header.Get("Vary") != "Accept-Encoding" || answer.Header.Get("No-Gzip-Compression") != "" {
			t.Errorf("%q: %v", accepted, answer.Header)
		}
		if coded == "" {
			continue
		}
		if len(body) > len(plain.raw)/4 {
			t.Errorf("%d bytes of %d", len(body), len(plain.raw))
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		w.must(err)
		if body, err = io.ReadAll(unpacked); err != nil || !bytes.Equal(body, plain.raw) {
			t.Errorf("%q: another body, %v", accepted, err)
		}
	}
	// Secrets, and what an ETag is of, are sent as they are.
	long := strings.Repeat("a description that repeats itself, ", 100)
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"long","name":"Long","description":"`+long+`"}`).want(t, 201, "")
	group := owner.call("GET", "/orgs/acme/org/groups/long", "").want(t, 200, "")
	for range 10 {
		w.signInAs(testUser)
	}
	for _, sent := range []struct {
		from               caller
		method, path, body string
		status             int
		large              bool // enough to be compressed
	}{
		{owner, "GET", "/orgs/acme/org/groups/long", "", 200, true},
		{owner, "GET", "/auth/sessions", "", 200, true},
		{owner, "POST", "/orgs/acme/org/grants/bulk", strings.ReplaceAll(`{"grants":[`+strings.Join(rows, ",")+`]}`, "admin.read", "files.read"), 201, true},
		{owner.with("If-None-Match", group.header.Get("ETag")), "GET", "/orgs/acme/org/groups/long", "", 304, false},
		{owner, "GET", "/orgs/acme/org/groups/none", "", 404, false},
		{owner.with("If-Match", group.header.Get("ETag")), "DELETE", "/orgs/acme/org/groups/long", "", 204, false},
	} {
		answer, err := http.DefaultTransport.RoundTrip(sent.from.with("Accept-Encoding", "gzip").request(sent.method, sent.path, sent.body))
		w.must(err)
		body, err := io.ReadAll(answer.Body)
		w.must(err)
		w.must(answer.Body.Close())
		if sent.large && len(body) < minCompressed {
			t.Errorf("%s %s: %d bytes are too few to tell", sent.method, sent.path, len(body))
		}
		if answer.StatusCode != sent.status || answer.Header.Get("Content-Encoding") != "" || answer.Header.Get("No-Gzip-Compression") != "" {
			t.Errorf("%s %s: %d %v", sent.method, sent.path, answer.StatusCode, answer.Header)
		}
	}
}

func TestTheWaysToSignIn(t *testing.T) {
	w := newWorld(t)
	got := caller{w: w}.call("GET", "/auth/methods", "").want(t, 200, "")
	if string(got.raw) != `{"methods":[{"kind":"bootstrap"}]}` {
		t.Errorf("%s", got.raw)
	}
}

// A console reads what a user has, changes one membership, and learns when somebody else
// changed it first.
func TestTheGroupsAndTheManagerOfAUserAreReadBeforeTheyAreChanged(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for _, id := range []string{"eng", "ops", "night"} {
		owner.call("POST", "/orgs/acme/org/groups", `{"id":"`+id+`","name":"x"}`).want(t, 201, "")
	}
	const user = "/orgs/acme/org/users/u_7"
	record := func(want string) (etag string) {
		t.Helper()
		got := owner.call("GET", user, "").want(t, 200, "")
		etag = got.text("user", "etag")
		if text := strings.Replace(string(got.raw), `,"etag":`+strconv.Quote(etag), "", 1); text != want {
			t.Errorf("%s, want %s", text, want)
		}
		if etag != got.header.Get("ETag") || etag == "" {
			t.Errorf("etag %q, header %q", etag, got.header.Get("ETag"))
		}
		return etag
	}
	record(`{"user":{"userId":"u_7","active":true,"groupIds":[],"orgIds":[],"managerUserId":null,"stored":false}}`)
	owner.call("PUT", user+"/groups/eng", `{}`).want(t, 204, "")
	owner.call("PUT", user+"/groups/ops", `{}`).want(t, 204, "")
	owner.call("PUT", user+"/groups/eng", `{}`).want(t, 204, "")
	owner.call("PUT", user+"/groups/ghost", `{}`).want(t, 404, "not_found")
	first := record(`{"user":{"userId":"u_7","active":true,"groupIds":["eng","ops"],"orgIds":[],"managerUserId":null,"stored":true}}`)
	owner.call("DELETE", user+"/groups/eng", "").want(t, 204, "")
	owner.call("DELETE", user+"/groups/eng", "").want(t, 204, "")

	owner.with("If-Match", first).call("PUT", user+"/membership", `{"groupIds":["eng","night"]}`).want(t, 409, "precondition_failed")
	owner.with("If-Match", first).call("PUT", user+"/manager", `{"managerUserId":"u_8"}`).want(t, 409, "precondition_failed")
	now := record(`{"user":{"userId":"u_7","active":true,"groupIds":["ops"],"orgIds":[],"managerUserId":null,"stored":true}}`)
	owner.with("If-Match", now).call("PUT", user+"/manager", `{"managerUserId":"u_8"}`).want(t, 200, "")
	now = record(`{"user":{"userId":"u_7","active":true,"groupIds":["ops"],"orgIds":[],"managerUserId":"u_8","stored":true}}`)
	owner.with("If-Match", now).call("PUT", user+"/membership", `{"groupIds":["night","ops"]}`).want(t, 200, "")
	record(`{"user":{"userId":"u_7","active":true,"groupIds":["night","ops"],"orgIds":[],"managerUserId":"u_8","stored":true}}`)
}

// A list of entries stays small, whatever they say; one entry is read whole.
func TestAuditListsLeaveOutLargeDetails(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	grants := make([]string, 40)
	for i := range grants {
		grants[i] = fmt.Sprintf(`{"subject":"user:u_%d","pattern":"docs.admin.read"}`, i)
	}
	owner.call("POST", "/orgs/acme/org/grants/bulk", `{"grants":[`+strings.Join(grants, ",")+`]}`).want(t, 201, "")
	event := func(query string) map[string]any {
		t.Helper()
		return owner.call("GET", "/orgs/acme/org/audit?limit=1"+query, "").want(t, 200, "").at("events").([]any)[0].(map[string]any)
	}
	short, whole := event(""), event("&details=whole")
	detail, _ := json.Marshal(whole["detail"])
	if short["detail"] != nil || short["detailBytes"] != float64(len(detail)) || short["action"] != "grant.create_bulk" || whole["detailBytes"] != nil || len(detail) < 2000 {
		t.Errorf("short %v; whole has %d bytes, detailBytes %v", short, len(detail), whole["detailBytes"])
	}
	export, shorter := event("&mode=export&action=grant.create_bulk"), event("&mode=export&action=grant.create_bulk&details=short")
	if export["detail"] == nil || shorter["detail"] != nil {
		t.Error("an export is whole unless short is asked for")
	}
	at := strconv.FormatInt(int64(short["at"].(float64)), 10)
	one := owner.call("GET", "/orgs/acme/org/audit/"+short["id"].(string)+"?at="+at, "").want(t, 200, "")
	if !reflect.DeepEqual(one.at("event"), any(whole)) {
		t.Errorf("one entry is %s", one.raw)
	}
	owner.call("GET", "/orgs/acme/org/audit/"+short["id"].(string)+"?at=1", "").want(t, 404, "not_found")
	owner.call("GET", "/orgs/acme/audit/nothing?at="+at, "").want(t, 404, "not_found")
	if got := event("&subject=user:u_7"); got["id"] != short["id"] {
		t.Errorf("about u_7: %v", got)
	}
	if got := owner.call("GET", "/orgs/acme/org/audit?subject=user:u_41", "").want(t, 200, ""); len(got.at("events").([]any)) != 0 {
		t.Errorf("about u_41: %s", got.raw)
	}
	for query, advice := range map[string]string{"subject=ann": "write user:ann", "action=grant*": "such as grant.*", "action=*": "such as grant.*", "action=.*": "such as grant.*", "details=none": "short, whole"} {
		for _, list := range []string{"org/audit", "audit", "applications/docs/audit"} {
			if r := owner.call("GET", "/orgs/acme/"+list+"?"+query, "").want(t, 400, "invalid_parameter"); !strings.Contains(string(r.raw), advice) {
				t.Errorf("%s: %s", query, r.raw)
			}
		}
	}
}
