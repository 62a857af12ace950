package hosted

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/service/retention"
)

func TestRetentionAndItsExportOverHTTP(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	people := w.crowd(owner)
	ingest := func() reply { return owner.call("POST", "/orgs/acme/applications/docs/ingest-audit", `{}`) }
	ingest().want(t, 409, "retention_off")
	owner.call("POST", "/orgs/acme/applications/docs/audit-optin", `{}`).want(t, 400, "invalid_request")
	owner.call("POST", "/orgs/acme/applications/docs/audit-optin", `{"optIn":true}`).want(t, 200, "")
	for range 3 {
		w.clock.Add(1000)
		w.grant("user:u_9")
	}
	first := ingest().want(t, 200, "")
	n, _ := first.at("ingested").(float64)
	if n < 3 || first.text("integrity") != "ok" || first.at("more") != false || first.at("paused") != nil {
		t.Fatalf("ingest: %s", first.raw)
	}
	if again := ingest().want(t, 200, ""); again.at("ingested") != float64(0) {
		t.Errorf("ingested twice: %s", again.raw)
	}

	got := owner.call("GET", "/orgs/acme/retention?application=docs&mode=export&limit=2", "").want(t, 200, "")
	rest := owner.call("GET", "/orgs/acme/retention?application=docs&mode=export&limit=2&cursor="+got.text("nextCursor"), "").want(t, 200, "")
	if len(got.at("events").([]any)) != 2 || len(rest.at("events").([]any)) == 0 || strings.HasPrefix(got.ids("events", "id"), rest.ids("events", "id")) {
		t.Errorf("pages: %s, %s", got.raw, rest.raw)
	}
	if r := owner.call("GET", "/orgs/acme/retention?limit=1", "").want(t, 200, ""); len(r.at("events").([]any)) != 1 {
		t.Errorf("recent: %s", r.raw)
	}
	owner.call("GET", "/orgs/acme/retention?mode=all", "").want(t, 400, "invalid_parameter")
	owner.call("GET", "/orgs/acme/retention?from=x", "").want(t, 400, "invalid_parameter")

	export := owner.with("Accept", "application/x-ndjson").call("GET", "/orgs/acme/retention/export?application=docs", "").want(t, 200, "")
	if kind := export.header.Get("Content-Type"); kind != ndjson || !strings.HasPrefix(export.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("headers: %v", export.header)
	}
	lines := strings.Split(strings.TrimSuffix(string(export.raw), "\n"), "\n")
	var end struct {
		End   bool
		Count float64
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || !end.End || end.Count != n || len(lines) != int(n)+1 {
		t.Errorf("%d lines, the last %s; want %v events", len(lines), lines[len(lines)-1], n)
	}
	last := ""
	for _, line := range lines[:len(lines)-1] {
		var e struct {
			Application, ID string
			At              json.Number
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Application != "docs" || e.At.String()+e.ID <= last {
			t.Errorf("a line is no event, or out of order: %s", line)
		}
		last = e.At.String() + e.ID
	}
	if r := owner.call("GET", "/orgs/acme/retention/export?actor=nobody", "").want(t, 200, ""); string(r.raw) != `{"end":true,"count":0}`+"\n" {
		t.Errorf("nothing: %s", r.raw)
	}
	if r := owner.call("GET", "/orgs/acme/audit?action=retention.export", ""); len(r.at("events").([]any)) != 2 {
		t.Errorf("exports are audited: %s", r.raw)
	}

	one := owner.key(`{"kind":"principal","name":"r","serviceId":"reader"}`)
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"service:reader","pattern":"cloud.retention.*","scope":"cloud.app:docs"}`).want(t, 201, "")
	for _, path := range []string{"/orgs/acme/retention", "/orgs/acme/retention/export"} {
		one.call("GET", path+"?application=docs", "").want(t, 200, "")
		one.call("GET", path, "").want(t, 403, "forbidden")
		one.call("GET", path+"?application=ghost", "").want(t, 403, "forbidden")
		people["portal"].call("GET", path+"?application=docs", "").want(t, 403, "forbidden")
	}

	done, limited := w.api.limits.export("acme")
	done2, limited2 := w.api.limits.export("acme")
	if limited != nil || limited2 != nil {
		t.Fatalf("exports that ended are still counted: %v, %v", limited, limited2)
	}
	r := owner.call("GET", "/orgs/acme/retention/export", "").want(t, 429, "rate_limited")
	if r.text("error", "bucket") != "exports" || r.header.Get("Retry-After") == "" || r.header.Get("Content-Disposition") != "" {
		t.Errorf("%s %v", r.raw, r.header)
	}
	done()
	done2()
}

// A stream goes on for as long as it moves; what bounds a request's body does not
// end it. One that breaks off has no last line.
func TestAnExportOutlivesTheTimeOfABody(t *testing.T) {
	for name, broken := range map[string]bool{"whole": false, "broken off": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				c := &Call{Request: r, header: rw.Header(), api: &API{log: hclog.NewNullLogger()}}
				_ = export{done: func() {}, events: func(yield func(retention.Event, error) bool) {
					for range 4 {
						time.Sleep(300 * time.Millisecond)
						if err := r.Context().Err(); !yield(retention.Event{}, err) || err != nil {
							return
						}
					}
					if broken {
						yield(retention.Event{}, io.ErrUnexpectedEOF)
					}
				}}.respond(c, rw)
			}))
			server.Config.ReadHeaderTimeout, server.Config.ReadTimeout = time.Minute, time.Second
			server.Start()
			defer server.Close()
			answer, err := http.Get(server.URL)
			if err != nil && !broken {
				t.Fatal(err)
			}
			if err != nil {
				return // nothing was flushed before it broke
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if whole := err == nil && strings.HasSuffix(string(text), `{"end":true,"count":4}`+"\n"); whole == broken {
				t.Errorf("whole is %v: %s, %v", whole, text, err)
			}
		})
	}
}
