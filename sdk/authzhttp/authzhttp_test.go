package authzhttp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzhttp"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/client"
)

const catalog = `
namespaces: [docs]
scopeTypes:
  docs.folder: {parent: docs.folder}
  docs.book: {parent: docs.folder}
  docs.page: {parent: docs.book}
permissions:
  docs.files.read: {scopes: [docs.folder, docs.book, docs.page]}
  docs.files.edit: {scopes: [docs.folder]}
  docs.files.approve: {scopes: [docs.folder], requiresCondition: true}
  docs.admin.read: true
`

const rows = `
	role  editor docs.files.*
	grant user:ann role editor docs.folder:1
	grant user:root docs.admin.read
`

func whoIs(r *http.Request) (authz.Principal, error) {
	switch who := r.Header.Get("As"); who {
	case "":
		return authz.Principal{}, nil
	case "broken":
		return authz.Principal{}, errors.New("the sessions cannot be read")
	default:
		return authz.UserPrincipal(who), nil
	}
}

// site is a server with gates.
type site struct {
	t     testing.TB
	world *authztest.World
	log   *testlog.Log
	url   string
	guard *authzhttp.Guard
}

func serve(t testing.TB, change func(*authzhttp.Options, *authztest.World)) *site {
	t.Helper()
	s := &site{t: t, log: &testlog.Log{}, world: authztest.New(t, authztest.ParseCatalog(t, catalog), rows)}
	o := authzhttp.Options{Client: s.world.Client(), Principal: whoIs, Logger: slog.New(slog.NewTextHandler(s.log, nil))}
	if change != nil {
		change(&o, s.world)
	}
	g := authzhttp.New(o)
	s.guard = g
	folder := authzhttp.ScopeFromPath("docs.folder", "id")
	reached := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "reached by %s", authzhttp.PrincipalOf(r.Context()))
	})
	mux := http.NewServeMux()
	mux.Handle("GET /folders/{id}", g.Require("docs.files.read", folder)(reached))
	mux.Handle("GET /pages/{id}", g.Require("docs.files.read", authzhttp.ScopeFromPath("docs.page", "id"))(reached))
	mux.Handle("GET /shelf", shelf(g, s.world))
	mux.Handle("GET /rest/{id...}", g.Require("docs.files.read", folder)(reached))
	mux.Handle("GET /lost/{folder}", g.Require("docs.files.read", folder)(reached))
	mux.Handle("GET /query", g.Require("docs.files.read", authzhttp.ScopeFromQuery("docs.folder", "id"))(reached))
	mux.Handle("GET /admin", g.Require("docs.admin.read", authzhttp.Global)(reached))
	mux.Handle("DELETE /folders/{id}", g.RequireGate(authzhttp.Gate{Keys: []string{"docs.files.edit", "docs.files.read"}, Scope: folder, Fresh: true})(reached))
	mux.Handle("POST /folders/{id}/approve", g.RequireGate(authzhttp.Gate{Keys: []string{"docs.files.approve"}, Scope: folder,
		Condition: func(r *http.Request) (bool, error) {
			if r.FormValue("author") == "down" {
				return false, errors.New("the database is down")
			}
			return r.FormValue("author") != r.Header.Get("As"), nil
		}})(reached))
	mux.Handle("GET /found/{name}", g.Require("docs.files.read", authzhttp.ScopeFunc(func(r *http.Request) (string, error) {
		switch r.PathValue("name") {
		case "first":
			return "docs.folder:1", nil
		case "down":
			return "", errors.New("the database is down")
		case "typo":
			return "docs.foldr:1", nil
		case "unset":
			return "", nil
		case "bare":
			return "1", nil
		case "untyped":
			return ":1", nil
		case "misshapen":
			return "docs folder:1", nil
		case "empty":
			return authz.ScopeID("docs.folder", ""), nil
		case "star":
			return authz.Global, nil
		}
		return "", authzhttp.ErrNoResource
	}))(reached))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *site) ask(method, path, as string) (status int, header http.Header, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("As", as)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

func TestRequestsAreToldApart(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct {
		sentence, method, path, as string
		want                       int
	}{
		{"who may passes", "GET", "/folders/1", "ann", 200},
		{"who may not is denied", "GET", "/folders/1", "ben", 403},
		{"a permission at one folder says nothing of another", "GET", "/folders/2", "ann", 403},
		{"nobody is asked to sign in", "GET", "/folders/1", "", 401},
		{"whom nobody can tell is no denial", "GET", "/folders/1", "broken", 503},
		{"a rest of the path is one id", "GET", "/rest/1", "ann", 200},
		{"a rest without an id names nothing", "GET", "/rest/", "ann", 404},
		{"a star is an id like another", "GET", "/folders/*", "root", 403},
		{"a value that the pattern lacks is a mistake", "GET", "/lost/1", "ann", 500},
		{"a parameter names the folder", "GET", "/query?id=1", "ann", 200},
		{"without the parameter there is no folder", "GET", "/query", "ann", 404},
		{"of two parameters the handler might read the other", "GET", "/query?id=1&id=2", "ann", 404},
		{"the global question", "GET", "/admin", "root", 200},
		{"is answered by global grants alone", "GET", "/admin", "ann", 403},
		{"any of the keys suffices", "DELETE", "/folders/1", "ann", 200},
		{"a condition that holds", "POST", "/folders/1/approve?author=ben", "ann", 200},
		{"a condition that does not", "POST", "/folders/1/approve?author=ann", "ann", 403},
		{"a condition without an answer", "POST", "/folders/1/approve?author=down", "ann", 503},
		{"a scope that the application finds", "GET", "/found/first", "ann", 200},
		{"and does not find", "GET", "/found/other", "ann", 404},
		{"and cannot look for", "GET", "/found/down", "ann", 503},
		{"and spells wrongly", "GET", "/found/typo", "ann", 500},
		{"an id that no resource can have names nothing", "GET", "/folders/%00", "ann", 404},
		{"nor does one with a control character", "GET", "/folders/a%0Ab", "ann", 404},
		{"nor one that is no text", "GET", "/folders/%ff", "ann", 404},
		{"nor one that is too long", "GET", "/folders/" + strings.Repeat("x", 1024), "ann", 404},
		{"nor a parameter of that kind", "GET", "/query?id=%00", "ann", 404},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			status, header, body := s.ask(c.method, c.path, c.as)
			if status != c.want {
				t.Errorf("answered %d %s, want %d", status, body, c.want)
			}
			if reached := strings.HasPrefix(body, "reached by user:"+c.as); reached != (status == 200) {
				t.Errorf("%d, and the handler was reached: %v", status, reached)
			}
			if got := header.Get("WWW-Authenticate"); (got == "Bearer") != (status == 401) {
				t.Errorf("%d with the challenge %q", status, got)
			}
			if status != 200 {
				if strings.Contains(body, "docs.") || header.Get("Content-Type") != "application/problem+json" || header.Get("Cache-Control") != "no-store" {
					t.Errorf("the visitor is told %q, %v", body, header)
				}
			}
		})
	}
	for _, told := range []string{"the sessions cannot be read", "has no value {id}", "docs.foldr"} {
		if !strings.Contains(s.log.String(), told) {
			t.Errorf("the log does not tell of %q: %s", told, s.log)
		}
	}
	if strings.Contains(s.log.String(), "status=403") {
		t.Errorf("the log tells of denials: %s", s.log)
	}
}

// Ben may everywhere but at one folder. What a function of the application lost of a scope
// must not make the global question of it: that would pass over the revoke.
func TestAScopeThatWasLostIsNotTheGlobalOne(t *testing.T) {
	s := serve(t, nil)
	s.world.Write("grant user:ben docs.files.read\nrevoke ben docs.files.read docs.folder:1")
	for name, want := range map[string]int{
		"star":  200, // who asks the global question says so
		"first": 403, "unset": 404, "empty": 404, "bare": 500, "untyped": 500, "misshapen": 500, "typo": 500,
	} {
		if status, _, body := s.ask("GET", "/found/"+name, "ben"); status != want {
			t.Errorf("%s is answered %d %s, want %d", name, status, body, want)
		}
	}
	if told := "which is no scope: it is"; !strings.Contains(s.log.String(), told) {
		t.Errorf("the log does not tell of %q: %s", told, s.log)
	}
}

// A client takes scopes of undeclared types as it was told to; a gate takes none.
func TestAGateHasItsOwnMindAboutScopeTypes(t *testing.T) {
	s := serve(t, func(o *authzhttp.Options, _ *authztest.World) {
		o.Client = o.Client.WithUnknownScopeTypes(client.ScopeTypeAnswer)
	})
	s.world.Write("grant user:ben docs.files.read")
	if status, _, body := s.ask("GET", "/found/typo", "ben"); status != 500 {
		t.Errorf("answered %d %s", status, body)
	}
}

func TestAnOutageIsNoAnswer(t *testing.T) {
	s := serve(t, nil)
	s.world.CutOff()
	for _, as := range []string{"ann", "ben"} {
		if status, _, body := s.ask("GET", "/folders/1", as); status != 503 {
			t.Errorf("%s is answered %d %s", as, status, body)
		}
	}
	if status, _, _ := s.ask("GET", "/folders/1", ""); status != 401 {
		t.Errorf("nobody is answered %d", status)
	}
}

func TestExplanationsInDevelopment(t *testing.T) {
	s := serve(t, func(o *authzhttp.Options, _ *authztest.World) { o.ExplainInDevelopment = true })
	_, _, body := s.ask("GET", "/folders/2", "ann")
	var told struct{ Explanation string }
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		t.Fatal(err)
	}
	want := "DENIED  user:ann may not docs.files.read at docs.folder:2\n" +
		"  because no live grant of the principal confers the key on the chain\n" +
		"  chain  docs.folder:2 → *\n" +
		"what would change it: authz explain --user ann docs.files.read docs.folder:2"
	if told.Explanation != want {
		t.Errorf("explained as\n%s\nwant\n%s", told.Explanation, want)
	}
	if _, _, body := s.ask("POST", "/folders/1/approve?author=ann", "ann"); !strings.Contains(body, "the condition of the gate does not hold") {
		t.Errorf("a condition is explained as %s", body)
	}
	if _, _, body := s.ask("GET", "/folders/2", ""); strings.Contains(body, "explanation") {
		t.Errorf("nobody is explained %s", body)
	}
}

func TestProgramsAnswerInTheirOwnWay(t *testing.T) {
	s := serve(t, func(o *authzhttp.Options, _ *authztest.World) {
		o.Challenge = `Basic realm="docs"`
		o.Respond = func(w http.ResponseWriter, r *http.Request, status int, err error) {
			var denied *authz.AccessDeniedError
			fmt.Fprint(w, status, " ", errors.As(err, &denied))
		}
	})
	if _, header, body := s.ask("GET", "/folders/1", ""); body != "401 true" || header.Get("WWW-Authenticate") != `Basic realm="docs"` {
		t.Errorf("answered %s, %v", body, header)
	}
	if _, _, body := s.ask("GET", "/folders/1", "broken"); body != "503 false" {
		t.Errorf("answered %s", body)
	}
}

func TestRequestsAreJudgedConcurrently(t *testing.T) {
	s := serve(t, func(o *authzhttp.Options, _ *authztest.World) { o.ExplainInDevelopment = true })
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			who, want := "ann", 200
			if i%2 == 1 {
				who, want = "ben", 403
			}
			for range 20 {
				if status, _, body := s.ask("GET", "/folders/1", who); status != want {
					t.Errorf("%s is answered %d %s", who, status, body)
				}
			}
		})
	}
	all.Wait()
}

// What cannot mean anything ends the program as it starts, and says what is meant.
func TestGatesAreHeldToTheCatalog(t *testing.T) {
	world := authztest.New(t, authztest.ParseCatalog(t, catalog), "")
	g := authzhttp.New(authzhttp.Options{Client: world.Client(), Principal: whoIs})
	folder := authzhttp.ScopeFromPath("docs.folder", "id")
	for want, declare := range map[string]func(){
		`Did you mean "docs.files.read"?`: func() { g.Require("docs.files.raed", folder) },
		`Did you mean "docs.folder"?`:     func() { g.Require("docs.files.read", authzhttp.ScopeFromPath("docs.foldr", "id")) },
		`"a:b" is no type of scopes`:      func() { g.Require("docs.files.read", authzhttp.ScopeFromPath("a:b", "id")) },
		"requiresCondition":               func() { g.Require("docs.files.approve", folder) },
		"a gate without a scope":          func() { g.Require("docs.files.read", authzhttp.Scope{}) },
		"ScopeFromPath needs a type":      func() { authzhttp.ScopeFromPath("", "id") },
		"ScopeFromPath needs":             func() { authzhttp.ScopeFromPath("docs.folder", "") },
		"ScopeFromQuery needs a type":     func() { authzhttp.ScopeFromQuery("", "id") },
		"ScopeFromQuery needs":            func() { authzhttp.ScopeFromQuery("docs.folder", "") },
		"In Go that is Client.RequireAny": func() { g.Require("docs.files.*", folder) },
		"a gate without keys":             func() { g.RequireGate(authzhttp.Gate{Scope: folder}) },
		"Options.Client is missing":       func() { authzhttp.New(authzhttp.Options{Principal: whoIs}) },
		"Options.Principal is missing":    func() { authzhttp.New(authzhttp.Options{Client: world.Client()}) },
		"explains in the body that Respond replaces": func() {
			authzhttp.New(authzhttp.Options{Client: world.Client(), Principal: whoIs, ExplainInDevelopment: true, Respond: func(http.ResponseWriter, *http.Request, int, error) {}})
		},
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "authzhttp: ") || !strings.Contains(said, want) {
					t.Errorf("want %q, got %q", want, said)
				}
			}()
			declare()
		}()
	}
}
