package host_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/sdk/authz"
)

const mistypedCheck = `{"principal":{"userId":"u1"},"key":"docs.files.read","scope":"docs.foldr:1"}`

// scraped is what the host tells Prometheus.
func scraped(t *testing.T, h *host.Host) string {
	t.Helper()
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

func TestAMistypedScopeIsAnErrorWhereConfigured(t *testing.T) {
	h, _, log := watchedHost(t, "    client: {unknown_scope_types: error}\n")
	answer, text := ask(t, h, "check", mistypedCheck)
	var envelope struct {
		Error struct {
			Name   string
			Detail authz.UnknownScopeTypeError
		}
	}
	if err := json.Unmarshal([]byte(text), &envelope); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != 500 || envelope.Error.Name != "UnknownScopeTypeError" || !slices.Equal(envelope.Error.Detail.DidYouMean, []string{"docs.folder"}) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if _, text := ask(t, h, "check", `{"checks":[`+readCheck+`,`+mistypedCheck+`]}`); !strings.HasPrefix(text, `{"results":[{"allowed":false},{"error":{"name":"UnknownScopeTypeError"`) {
		t.Errorf("a batch: %s", text)
	}
	if _, text := ask(t, h, "check", strings.Replace(mistypedCheck, "docs.foldr:1", "docs.folder:1", 1)); text != `{"allowed":false}` {
		t.Errorf("a declared type: %s", text)
	}
	if said := scraped(t, h); !strings.Contains(said, `authz_checks_unknown_scope_type_total{app="docs"} 2`) {
		t.Error("the metric does not count 2")
	}
	if strings.Contains(log.String(), "docs.foldr") {
		t.Errorf("the log has what the caller was told: %s", log)
	}
}

func TestAMistypedScopeIsAnsweredLoggedOnceAndCountedUnlessConfigured(t *testing.T) {
	h, _, log := watchedHost(t, "")
	for range 3 {
		if answer, text := ask(t, h, "check", mistypedCheck); answer.StatusCode != 200 || text != `{"allowed":false}` {
			t.Fatalf("%d %s", answer.StatusCode, text)
		}
	}
	if said := log.String(); strings.Count(said, "scope_type=") != 1 || !strings.Contains(said, "docs.folder") {
		t.Errorf("the log: %s", said)
	}
	if said := scraped(t, h); !strings.Contains(said, `authz_checks_unknown_scope_type_total{app="docs"} 3`) {
		t.Error("the metric does not count 3")
	}
	for _, op := range []string{"check", "explain"} { // people at the socket are told
		err := socket{localCaller(h), "docs"}.call(t.Context(), op, object{"principal": object{"userId": "u1"}, "key": "docs.files.read", "scope": "docs.foldr:1"}, nil)
		var unknown *authz.UnknownScopeTypeError
		if !errors.As(err, &unknown) || unknown.ScopeType != "docs.foldr" {
			t.Errorf("%s at the socket: %v", op, err)
		}
	}
}
