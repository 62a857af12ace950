package scim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/scim/scim"
	"github.com/authzhost/authz/plugins/scim/scimtest"
	"github.com/authzhost/authz/sdk/directory"
)

const listSchema = `"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"]`

func TestAnswersThatCannotBeUsed(t *testing.T) {
	server := scimtest.Start(t, small())
	one := func(resource string) string {
		return `{` + listSchema + `,"totalResults":1,"Resources":[` + resource + `]}`
	}
	const userSchema = `"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"]`
	for _, c := range []struct {
		name     string
		faults   scimtest.Faults
		rejected bool
		words    []string
	}{
		{"a page for people", scimtest.Faults{"body": "<html>sign in</html>", "contentType": "text/html"}, true, []string{"text/html", "base_url"}},
		{"HTML that says it is JSON", scimtest.Faults{"body": "<html>", "only": "Users"}, true, []string{"Users", "not JSON"}},
		{"another schema of lists", scimtest.Faults{"body": `{"schemas":["urn:scim:schemas:core:1.0"],"totalResults":0}`, "only": "Users"}, true, []string{"unknown schema", "urn:scim:schemas:core:1.0"}},
		{"another schema of descriptions", scimtest.Faults{"body": `{}`, "only": "ServiceProviderConfig"}, true, []string{"ServiceProviderConfig", "unknown schema"}},
		{"another schema of people", scimtest.Faults{"only": "Users", "set": `{"schemas":["urn:example:Robot"]}`}, true, []string{"unknown schema", "urn:example:Robot", `"ann"`}},
		{"no schemas of groups", scimtest.Faults{"only": "Groups", "set": `{"schemas":null}`}, true, []string{"unknown schema", "none"}},
		{"no id", scimtest.Faults{"only": "Users", "set": `{"id":null}`}, true, []string{"without id"}},
		{"no userName", scimtest.Faults{"only": "Users", "set": `{"userName":null}`}, true, []string{"no userName", `"ann"`}},
		{"no displayName", scimtest.Faults{"only": "Groups", "set": `{"displayName":""}`}, true, []string{"no displayName", `"all"`}},
		{"active that is text", scimtest.Faults{"only": "Users", "set": `{"active":"True"}`}, true, []string{`"active" is a JSON string`, `"ann"`}},
		{"members that are none", scimtest.Faults{"only": "Groups", "set": `{"members":"ann"}`}, true, []string{`"members" is a JSON string`}},
		{"an id of 2,000 bytes", scimtest.Faults{"only": "Users", "set": `{"id":"` + strings.Repeat("x", 2000) + `"}`}, true, []string{"longer than 1024 bytes"}},
		{"a manager that is a number", scimtest.Faults{"only": "Users", "body": one(`{` + userSchema + `,"id":"a","userName":"a","` + scimtest.Enterprise + `":{"manager":7}}`)}, true, []string{"manager"}},
		{"resources that are an object", scimtest.Faults{"only": "Users", "body": `{` + listSchema + `,"totalResults":1,"Resources":{}}`}, true, []string{"no array"}},
		{"a list", scimtest.Faults{"only": "Users", "body": `[]`}, true, []string{"no JSON object"}},
		{"members told twice", scimtest.Faults{"only": "Users", "body": `{` + listSchema + `,"totalResults":0,"TotalResults":0}`}, true, []string{"twice"}},
		{"more than an answer", scimtest.Faults{"only": "Users", "body": `{` + listSchema + `,"totalResults":0}{}`}, true, []string{"after its end"}},
		{"a cut answer", scimtest.Faults{"cutAt": 200}, false, []string{"ServiceProviderConfig", "cut off"}},
		{"cut JSON", scimtest.Faults{"only": "Users", "body": `{` + listSchema + `,"totalResults":1,"Resources":[{"id":`}, false, []string{"cut off"}},
		{"a refusal that repeats the credentials", scimtest.Faults{"status": 403, "echo": true}, false, []string{"403", "redacted"}},
		{"an error of the service", scimtest.Faults{"status": 500}, false, []string{"500"}},
		{"no such path", scimtest.Faults{"status": 404, "only": "Users"}, true, []string{"Users", "404"}},
		{"a redirect", scimtest.Faults{"redirect": "https://elsewhere.example/scim?x=y"}, true, []string{"https://elsewhere.example", "credentials do not go"}},
		{"redirects for ever", scimtest.Faults{"redirect": "/v2/Users"}, true, []string{"elsewhere"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server.Set(t, c.faults)
			o := options(server)
			o.MaxRetries = 1
			fails(t, open(t, o), c.rejected, c.words...)
		})
	}
}

// plain serves one answer for every path, without TLS, on this machine.
func plain(t *testing.T, answer http.HandlerFunc) scim.Options {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return scim.Options{BaseURL: server.URL, Token: scimtest.Token, UserID: "id", GroupID: "id", Paging: "index", PageSize: 10,
		PageOverlap: true, MaxEntries: 100, MaxResponseBytes: 1 << 20, Timeout: time.Minute, RequestTimeout: 20 * time.Second}
}

func TestWhatIsNotUTF8(t *testing.T) {
	o := plain(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{\"schemas\":[\"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig\"],\"x\":\"\xff\"}"))
	})
	fails(t, open(t, o), true, "not UTF-8")
}

func TestAnAnswerWithoutEnd(t *testing.T) {
	o := plain(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"x":[`))
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",`)); err != nil {
				return
			}
		}
	})
	fails(t, open(t, o), true, "max_response_bytes")
}

func TestTheCredentialsGoToNobodyElse(t *testing.T) {
	var seen []string
	decoy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
	}))
	defer decoy.Close()
	server := scimtest.Start(t, small())
	server.Set(t, scimtest.Faults{"redirect": decoy.URL + "/v2/Users"})
	fails(t, open(t, options(server)), true, decoy.URL)
	if len(seen) > 0 {
		t.Errorf("another host was asked, with %q", seen)
	}
}

func TestCredentials(t *testing.T) {
	server := scimtest.Start(t, small())
	none := options(server)
	none.Token = ""
	t.Run("basic", func(t *testing.T) {
		o := none
		o.Username, o.Password = scimtest.Username, scimtest.Password
		if _, err := read(t.Context(), open(t, o)); err != nil {
			t.Error(err)
		}
		server.Set(t, scimtest.Faults{"status": 403, "echo": true})
		fails(t, open(t, o), false, "refuses the credentials (403)", "Basic [redacted]")
		server.Set(t, scimtest.Faults{})
		o.Password = "wrong-" + scimtest.Password
		fails(t, open(t, o), false, "refuses the credentials (401)")
	})
	t.Run("a client", func(t *testing.T) {
		server.Set(t, scimtest.Faults{})
		o := none
		o.TokenURL, o.ClientID, o.ClientSecret = server.TokenURL, scimtest.ClientID, scimtest.ClientSecret
		if _, err := read(t.Context(), open(t, o)); err != nil {
			t.Fatal(err)
		}
		if asked := server.Stats(t); asked.Tokens != 1 || asked.Authorizations["Bearer "+scimtest.IssuedToken] != asked.Requests {
			t.Errorf("%+v", asked)
		}
		o.ClientID = "stranger"
		fails(t, open(t, o), false, "the client gets no token (401, invalid_client)")
	})
	t.Run("a wrong token", func(t *testing.T) {
		o := none
		o.Token = "wrong"
		fails(t, open(t, o), false, "refuses the credentials (401)")
	})
}

func TestCertificates(t *testing.T) {
	server := scimtest.Start(t, small())
	o := options(server)
	o.CAFile = scimtest.Start(t, scimtest.World{}).CAFile
	fails(t, open(t, o), false, "certificate is not trusted")
	o = options(server)
	o.BaseURL = strings.Replace(o.BaseURL, "127.0.0.1", "localhost", 1)
	fails(t, open(t, o), false, "certificate is not trusted")
	clear := httptest.NewServer(http.NotFoundHandler())
	defer clear.Close()
	o.BaseURL = strings.Replace(clear.URL, "http:", "https:", 1)
	fails(t, open(t, o), false, "does not speak TLS")
}

func TestThrottlingIsHonoured(t *testing.T) {
	t.Parallel() // most of it waits
	server := scimtest.Start(t, small())
	for _, status := range []int{429, 503} {
		server.Set(t, scimtest.Faults{"status": status, "statusFor": 2, "retryAfter": "1"})
		began := time.Now()
		if _, err := read(t.Context(), open(t, options(server))); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 2*time.Second {
			t.Errorf("the service asked twice for a second and was left alone for %v", waited)
		}
	}
	t.Run("a wait longer than the reading may take", func(t *testing.T) {
		server.Set(t, scimtest.Faults{"status": 429, "retryAfter": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)})
		fails(t, open(t, options(server)), false, "429", "timeout")
		if asked := server.Stats(t); asked.Requests != 1 {
			t.Errorf("asked %d times", asked.Requests)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		server.Set(t, scimtest.Faults{"status": 503})
		fails(t, open(t, options(server)), false, "503")
		if asked := server.Stats(t); asked.Requests != 3 {
			t.Errorf("asked %d times", asked.Requests)
		}
	})
}

func TestAServiceThatIsSlow(t *testing.T) {
	server := scimtest.Start(t, small())
	t.Run("but answers", func(t *testing.T) {
		server.Set(t, scimtest.Faults{"delayMs": 50})
		if _, err := read(t.Context(), open(t, options(server))); err != nil {
			t.Error(err)
		}
	})
	t.Run("in the middle of an answer", func(t *testing.T) {
		server.Set(t, scimtest.Faults{"hangAfter": 100, "only": "Groups"})
		o := options(server)
		o.RequestTimeout, o.MaxRetries = 2*time.Second, 1 // long enough for the answers before
		fails(t, open(t, o), false, "Groups", "request_timeout")
	})
	t.Run("longer than the reading may take", func(t *testing.T) {
		server.Set(t, scimtest.Faults{"hangAfter": 100, "only": "Groups"})
		o := options(server)
		o.Timeout = 300 * time.Millisecond
		fails(t, open(t, o), false, "timeout")
	})
	t.Run("and is not waited for", func(t *testing.T) {
		server.Set(t, scimtest.Faults{"hangAfter": 100, "only": "Groups"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		if _, err := read(ctx, open(t, options(server))); err == nil || !strings.Contains(err.Error(), "stopped") {
			t.Error(err)
		}
	})
	t.Run("and the importer is closed", func(t *testing.T) {
		server.Set(t, scimtest.Faults{"hangAfter": 100, "only": "Groups"})
		i := open(t, options(server))
		time.AfterFunc(200*time.Millisecond, func() { _ = i.Close() })
		if _, err := read(t.Context(), i); err == nil || !strings.Contains(err.Error(), "stopped") {
			t.Error(err)
		}
		if _, err := read(t.Context(), i); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	})
}

func TestAnAnswerThatIsCutOnceIsAskedForAgain(t *testing.T) {
	server := scimtest.Start(t, small())
	server.Set(t, scimtest.Faults{"cutAt": 100, "cutFor": 2})
	if _, err := read(t.Context(), open(t, options(server))); err != nil {
		t.Error(err)
	}
}

func TestAServiceThatDiesInTheMiddle(t *testing.T) {
	server := scimtest.Start(t, people(50))
	server.Set(t, scimtest.Faults{"delayMs": 20})
	time.AfterFunc(250*time.Millisecond, server.Stop)
	fails(t, open(t, options(server)), false, "cannot be reached")
}

func TestAReaderThatStopsEarly(t *testing.T) {
	server := scimtest.Start(t, small())
	n := 0
	for _, err := range open(t, options(server)).Import(t.Context(), directory.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
	}
}
