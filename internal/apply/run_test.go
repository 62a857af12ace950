package apply

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// TestAnApplyThatEndsEarlySaysWhatItDid: an interrupt lets the write that is under
// way end, and a change of two writes may be half done.
func TestAnApplyThatEndsEarlySaysWhatItDid(t *testing.T) {
	const refusal = `{"error":{"name":"ProviderWriteRejectedError","code":"conflict","message":"taken"}}`
	const outage = `{"error":{"name":"UnavailableError","code":"unavailable","message":"gone","detail":{"outcome":"unknown"}}}`
	for name, c := range map[string]struct {
		second string // the answer to the second write; "" interrupts during the first
		states string
		says   string
	}{
		"an interrupt":             {"", "applied, partly applied, not tried", "interrupted"},
		"a refusal":                {refusal, "applied, partly applied, not tried", "taken"},
		"an outage":                {outage, "applied, partly applied, not tried", "gone"},
		"nothing in the way of it": {"{}", "applied, applied, applied", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if !strings.Contains(string(body), `"integrationId":"apply:x"`) {
					t.Errorf("%s without provenance: %s", r.URL.Path, body)
				}
				calls++
				switch {
				case calls == 1 && c.second == "":
					interrupt()
				case calls == 2:
					w.WriteHeader(map[string]int{refusal: 409, outage: 503, "{}": 200}[c.second])
					_, _ = io.WriteString(w, c.second)
					return
				}
				_, _ = io.WriteString(w, "{}")
			}))
			t.Cleanup(server.Close)
			p := &Plan{provenance: (&File{Name: "x"}).Provenance()}
			one, two, three := p.add("create", "role", "a", ""), p.add("update", "grant", "", "b"), p.add("delete", "grant", "c", "")
			p.do("createGrants", fields{}, one, two)
			p.do("deleteGrant", fields{}, two)
			p.do("deleteGrant", fields{}, three)
			err := p.Run(ctx, &provider.Caller{Base: server.URL}, func(int) {})
			if got := one.State + ", " + two.State + ", " + three.State; got != c.states {
				t.Errorf("the changes are %s", got)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v", err)
			}
			if c.second == refusal && authz.CodeOf(err) != authz.CodeConflict {
				t.Errorf("the refusal is lost: %v", err)
			}
		})
	}
}
