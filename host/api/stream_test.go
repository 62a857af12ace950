package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func (f faulty) ListGrants(ctx context.Context, q provider.GrantQuery) iter.Seq2[authz.Grant, error] {
	if f.listGrants == nil {
		return f.Backend.ListGrants(ctx, q)
	}
	return f.listGrants(ctx)
}

// grantsThen yields n rows of about 200 bytes and then err.
func grantsThen(n int, err error) func(func(authz.Grant, error) bool) {
	return func(yield func(authz.Grant, error) bool) {
		for i := range n {
			if !yield(authz.Grant{ID: fmt.Sprintf("g%06d", i), Subject: "user:" + strings.Repeat("u", 100), Pattern: "*", Scope: "*",
				Provenance: authz.Provenance{Kind: authz.ProvenanceSystem}}, nil) {
				return
			}
		}
		if err != nil {
			yield(authz.Grant{}, err)
		}
	}
}

func listingWorld(t *testing.T, list func(context.Context) func(func(authz.Grant, error) bool)) *world {
	return newWorld(t, worldOptions{decorate: func(a api.Backend) api.Backend {
		return faulty{Backend: a, listGrants: list}
	}})
}

func TestAListThatFailsBeforeAnythingWasSentAnswersTheError(t *testing.T) {
	outage := &authz.UnavailableError{Message: "storage is unavailable"}
	for _, rows := range []int{0, 1, 10} {
		w := listingWorld(t, func(context.Context) func(func(authz.Grant, error) bool) { return grantsThen(rows, outage) })
		w.post("listGrants", "").expectError(t, 503, "UnavailableError", "unavailable", "storage is unavailable")
	}
}

func TestAListThatFailsInTheMiddleBreaksTheConnection(t *testing.T) {
	for name, end := range map[string]func(){"error": func() {}, "panic": func() { panic("in the middle") }} {
		w := listingWorld(t, func(context.Context) func(func(authz.Grant, error) bool) {
			rows := grantsThen(5000, nil)
			return func(yield func(authz.Grant, error) bool) {
				rows(yield)
				end()
				yield(authz.Grant{}, errors.New("gone"))
			}
		})
		req, err := http.NewRequest("POST", w.server.URL+"/v1/listGrants", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := w.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || err == nil {
			t.Errorf("%s: status %d, %d bytes read to a clean end", name, resp.StatusCode, len(body))
		}
		if len(body) == 0 {
			t.Errorf("%s: nothing was streamed", name)
		}
	}
}

func TestAListIsStreamedWhileItIsProduced(t *testing.T) {
	release := make(chan struct{})
	w := listingWorld(t, func(context.Context) func(func(authz.Grant, error) bool) {
		first, second := grantsThen(1000, nil), grantsThen(1, nil)
		return func(yield func(authz.Grant, error) bool) {
			first(yield)
			<-release
			second(yield)
		}
	})
	req, err := http.NewRequest("POST", w.server.URL+"/v1/listGrants", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := w.server.Client().Do(req) // returns only because rows arrive before the list ends
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 32<<10)); err != nil {
		t.Fatal(err)
	}
	close(release)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(rest), "]}") {
		t.Errorf("the end: %v", err)
	}
}

func TestACallerWhoGoesAwayEndsTheList(t *testing.T) {
	ended := make(chan struct{})
	w := listingWorld(t, func(ctx context.Context) func(func(authz.Grant, error) bool) {
		return func(yield func(authz.Grant, error) bool) {
			defer close(ended)
			for ctx.Err() == nil && yield(authz.Grant{ID: strings.Repeat("x", 1000)}, nil) {
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", w.server.URL+"/v1/listGrants", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := w.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the list goes on for nobody")
	}
}

// A server's ReadTimeout ends with the body: an operation that outlasts it is
// not cancelled.
func TestAnOperationMayOutlastTheTimeForItsBody(t *testing.T) {
	w := newWorld(t, worldOptions{decorate: func(a api.Backend) api.Backend {
		return faulty{Backend: a, capabilities: func(ctx context.Context) (provider.Capabilities, error) {
			select {
			case <-ctx.Done():
				return provider.Capabilities{}, ctx.Err()
			case <-time.After(1500 * time.Millisecond):
				return provider.Capabilities{}, nil
			}
		}}
	}})
	server := httptest.NewUnstartedServer(w.server.Config.Handler)
	server.Config.ReadTimeout = time.Second // in which a busy machine reads the request
	server.Start()
	defer server.Close()
	a := send(t, server.Client(), "POST", server.URL+"/v1/capabilities", "{}", "Bearer "+secret)
	if a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestPagesOfAList(t *testing.T) {
	w := newWorld(t, worldOptions{})
	var inputs []string
	for i := range 7 {
		inputs = append(inputs, fmt.Sprintf(`{"subject":"user:u%d","pattern":"docs.files.read"}`, i))
		w.mustOK("createRole", fmt.Sprintf(`{"input":{"id":"r%d","name":"R","patterns":[]},%s}`, i, admin))
		w.mustOK("createGroup", fmt.Sprintf(`{"input":{"id":"g%d","name":"G"},%s}`, i, admin))
		w.mustOK("createRevoke", fmt.Sprintf(`{"input":{"userId":"u%d","pattern":"docs.files.read",%s}}`, i, admin))
	}
	w.mustOK("createGrants", `{"inputs":[`+strings.Join(inputs, ",")+`],`+admin+`}`)
	for op, field := range map[string]string{"listGrants": "grants", "listRevokes": "revokes", "listRoles": "roles",
		"listGroups": "groups", "listAuditEvents": "events"} {
		whole := w.mustOK(op, "")
		if _, told := whole["next"]; told {
			t.Errorf("%s: next without a limit", op)
		}
		all := whole[field].([]any)
		for _, limit := range []int{1, 3, len(all) - 1, len(all), len(all) + 1} {
			var paged []any
			after := ""
			for pages := 0; ; pages++ {
				if pages > len(all) {
					t.Fatalf("%s, limit %d: no end", op, limit)
				}
				page := w.mustOK(op, fmt.Sprintf(`{"limit":%d%s}`, limit, after))
				rows := page[field].([]any)
				paged = append(paged, rows...)
				next, more := page["next"]
				if more != (len(paged) < len(all)) || more && len(rows) != limit {
					t.Fatalf("%s, limit %d: %d rows, next %v", op, limit, len(rows), next)
				}
				if !more {
					break
				}
				after = `,"after":` + text(next)
			}
			if diff := cmp.Diff(all, paged); diff != "" {
				t.Errorf("%s, limit %d (-whole +paged):\n%s", op, limit, diff)
			}
		}
		first := all[0].(map[string]any)
		key := first["id"]
		if op == "listAuditEvents" {
			key = map[string]any{"at": first["at"], "id": first["id"]}
		}
		rest := w.mustOK(op, `{"after":`+text(key)+`}`)
		if diff := cmp.Diff(map[string]any{field: all[1:]}, rest); diff != "" {
			t.Errorf("%s: after without a limit (-want +got):\n%s", op, diff)
		}
	}
	filtered := w.mustOK("listGrants", `{"filter":{"subject":"user:u3"},"limit":1}`)
	if len(filtered["grants"].([]any)) != 1 || filtered["next"] != nil {
		t.Errorf("filter and page: %v", filtered)
	}
	if none := w.mustOK("listGrants", `{"filter":{"roleId":""}}`); len(none["grants"].([]any)) != 0 {
		t.Errorf("an empty roleId selects nothing: %v", none)
	}
	last := w.mustOK("listAuditEvents", `{"filter":{"limit":2}}`)["events"].([]any)
	if len(last) != 2 {
		t.Errorf("filter.limit: the last 2 matches, got %v", last)
	}
	if nothing := w.mustOK("listAuditEvents", `{"filter":{"limit":0}}`)["events"].([]any); len(nothing) != 0 {
		t.Errorf("filter.limit 0 selects nothing: %v", nothing)
	}
}
