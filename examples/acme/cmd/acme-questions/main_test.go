package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const token = "a-token-of-the-test"

var questions = sync.OnceValue(questionsOfTheSample)

// host answers every question as expected but for those that spoil says
// otherwise about, by number from 1.
func host(t *testing.T, spoil func(question int) (any, bool)) string {
	number := map[check]int{}
	for i, q := range questions() {
		number[wire(q)] = i + 1
	}
	answer := func(c check) any {
		n := number[c]
		if other, spoilt := spoil(n); spoilt {
			return other
		}
		return map[string]bool{"allowed": questions()[n-1].Want}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(provider.Envelope{Error: &provider.WireError{Name: "ProviderApiError", Code: "unauthorized", Message: "unauthorized"}})
			return
		}
		var body struct {
			check
			Checks []check
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/apps/docs/v1/check" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		if body.Checks == nil {
			_ = json.NewEncoder(w).Encode(answer(body.check))
			return
		}
		results := []any{}
		for _, c := range body.Checks {
			results = append(results, answer(c))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/apps/docs"
}

func tokenFile(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func honest(int) (any, bool) { return nil, false }

func TestAskingAHost(t *testing.T) {
	wrong := func(n int) (any, bool) {
		switch n {
		case 7:
			return map[string]bool{"allowed": !questions()[6].Want}, true
		case 9:
			wire, _ := provider.ToWireError(&authz.UnavailableError{Message: "storage is gone"})
			return provider.Envelope{Error: wire}, true
		case 11:
			return map[string]any{}, true
		}
		return nil, false
	}
	for _, c := range []struct {
		name  string
		spoil func(int) (any, bool)
		args  []string
		code  int
		want  []string
	}{
		{"right answers in a batch pass", honest, nil, exitPassed, []string{"500 passed, 0 failed"}},
		{"right answers one by one pass", honest, []string{"--single"}, exitPassed, []string{"500 passed, 0 failed"}},
		{"a wrong answer, an error and no answer each fail with a line", wrong, nil, exitFailed,
			[]string{"FAIL 7: ", "FAIL 9: ", "UnavailableError: storage is gone", "FAIL 11: ", "no answer", "497 passed, 3 failed"}},
		{"the same one by one", wrong, []string{"--single"}, exitFailed,
			[]string{"FAIL 7: ", "FAIL 9: ", "UnavailableError: storage is gone", "FAIL 11: ", "no answer", "497 passed, 3 failed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			args := append([]string{"--url", host(t, c.spoil), "--token-file", tokenFile(t, token+"\n")}, c.args...)
			if code := run(t.Context(), args, questions, &out, &errs); code != c.code {
				t.Errorf("exit status %d, want %d: %s", code, c.code, errs.String())
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output lacks %q:\n%s", want, out.String())
				}
			}
			if lines := strings.Count(out.String(), "\n"); lines > 4 {
				t.Errorf("%d lines of output", lines)
			}
		})
	}
}

func TestJSONOutputNamesTheFailures(t *testing.T) {
	var out, errs bytes.Buffer
	url := host(t, func(n int) (any, bool) { return map[string]bool{"allowed": !questions()[0].Want}, n == 1 })
	if code := run(t.Context(), []string{"--url", url, "--token-file", tokenFile(t, token), "--output", "json"}, questions, &out, &errs); code != exitFailed {
		t.Errorf("exit status %d", code)
	}
	var got result
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Passed != 499 || got.Failed != 1 || len(got.Failures) != 1 || got.Failures[0].Got != "denied" || got.Failures[0].Who.UserID != "u_17" {
		t.Errorf("%+v", got)
	}
}

func TestBadUsageIsTwoAndAnOutageIsOne(t *testing.T) {
	good := tokenFile(t, token)
	const nobody = "http://127.0.0.1:1" // a port that no test is given
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no token file", nil, exitUsage, "--token-file is required"},
		{"a token file that is not there", []string{"--token-file", "/nowhere/token"}, exitUsage, "read the token"},
		{"an empty token file", []string{"--token-file", tokenFile(t, " \n")}, exitUsage, "is empty"},
		{"an endless token file", []string{"--token-file", tokenFile(t, strings.Repeat("x", maxToken+1))}, exitUsage, "longer than"},
		{"an unknown output", []string{"--token-file", good, "--output", "xml"}, exitUsage, "must be text or json"},
		{"no time at all", []string{"--token-file", good, "--timeout", "0s"}, exitUsage, "--timeout"},
		{"an argument", []string{"--token-file", good, "now"}, exitUsage, "unknown command"},
		{"an unknown flag", []string{"--fast"}, exitUsage, "unknown flag"},
		{"nobody listens", []string{"--token-file", good, "--url", nobody}, exitFailed, "failed"},
		{"nobody listens, one by one", []string{"--token-file", good, "--url", nobody, "--single"}, exitFailed, "failed"},
		{"another token", []string{"--token-file", tokenFile(t, "some other secret"), "--url", host(t, honest)}, exitFailed, "unauthorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if code := run(t.Context(), c.args, questions, &out, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
				t.Errorf("exit status %d, want %d; says %q, want %q in it", code, c.code, errs.String(), c.says)
			}
			if strings.Contains(errs.String()+out.String(), token) {
				t.Error("the token is printed")
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, questions, &out, &out); code != exitPassed {
		t.Errorf("exit status %d", code)
	}
	for _, want := range []string{"--url", "--token-file", "--output", "--single", "--timeout", "Exit status", "500 questions"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
}
