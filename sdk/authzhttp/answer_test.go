package authzhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzhttp"
	"github.com/authzhost/authz/sdk/authztest"
)

// shelf is a route behind SignedIn whose handler asks itself.
func shelf(g *authzhttp.Guard, w *authztest.World) http.Handler {
	return g.SignedIn()(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p, c := authzhttp.PrincipalOf(r.Context()), w.Client()
		var err error
		switch r.FormValue("ask") {
		case "pattern":
			err = c.RequireAny(r.Context(), p, "docs.files.*")
		case "key":
			err = c.Require(r.Context(), p, "docs.files.read", "docs.folder:2")
		case "nosuch":
			_, err = c.Can(r.Context(), p, "docs.files.read", "docs.page:nosuch")
		case "lost":
			err = fmt.Errorf("the page: %w", authzhttp.ErrNoResource)
		case "nobody":
			_, err = c.Can(r.Context(), authz.Principal{}, "docs.files.read", "docs.folder:1")
		case "typo":
			_, err = c.Can(r.Context(), p, "docs.files.raed", "docs.folder:1")
		case "down":
			err = errors.New("the database is down")
		}
		if err != nil || r.FormValue("ask") == "nothing" {
			g.Answer(rw, r, err)
			return
		}
		fmt.Fprintf(rw, "reached by %s", p)
	}))
}

func TestAHandlerAnswersAsAGateDoes(t *testing.T) {
	for _, c := range []struct {
		sentence, ask, as string
		want              int
	}{
		{"who is somebody passes, without a key", "", "ben", 200},
		{"nobody is asked to sign in", "", "", 401},
		{"whom nobody can tell is no denial", "", "broken", 503},
		{"two at once are a mistake", "", "both", 500},
		{"what a pattern allows", "pattern", "ann", 200},
		{"and denies", "pattern", "ben", 403},
		{"a key is denied", "key", "ann", 403},
		{"a resource that nobody knows", "nosuch", "ann", 404},
		{"a resource that the handler did not find", "lost", "ann", 404},
		{"a question about nobody is a mistake", "nobody", "ann", 500},
		{"so is a key that is not declared", "typo", "ann", 500},
		{"and an answer to no error", "nothing", "ann", 500},
		{"an outage of its own", "down", "ann", 503},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			s := serve(t, func(o *authzhttp.Options, _ *authztest.World) {
				o.Principal = func(r *http.Request) (authz.Principal, error) {
					if r.Header.Get("As") == "both" {
						return authz.Principal{UserID: "ann", ServiceID: "ann"}, nil
					}
					return whoIs(r)
				}
			})
			status, header, body := s.ask("GET", "/shelf?ask="+c.ask, c.as)
			if status != c.want {
				t.Errorf("answered %d %s, want %d", status, body, c.want)
			}
			if strings.HasPrefix(body, "reached by user:"+c.as) != (c.want == 200) {
				t.Errorf("%d, and the visitor is told %s", status, body)
			}
			if status != 200 && (header.Get("Content-Type") != "application/problem+json" || header.Get("Cache-Control") != "no-store" || strings.Contains(body, "docs.")) {
				t.Errorf("the visitor is told %q, %v", body, header)
			}
			if told := strings.Contains(s.log.String(), "level=ERROR"); told != (c.want >= 500) {
				t.Errorf("the log tells %q", s.log)
			}
		})
	}
}

func TestAHandlersDenialIsExplainedInDevelopment(t *testing.T) {
	s := serve(t, func(o *authzhttp.Options, _ *authztest.World) { o.ExplainInDevelopment = true })
	for ask, want := range map[string]string{"key": "DENIED  user:ann may not docs.files.read at docs.folder:2\n", "pattern": ""} {
		as := map[string]string{"key": "ann", "pattern": "ben"}[ask]
		status, _, body := s.ask("GET", "/shelf?ask="+ask, as)
		var told struct{ Explanation string }
		if err := json.Unmarshal([]byte(body), &told); err != nil || status != 403 {
			t.Fatal(status, body, err)
		}
		if !strings.HasPrefix(told.Explanation, want) || want == "" && told.Explanation != "" {
			t.Errorf("%s is explained as %q, want %q", ask, told.Explanation, want)
		}
	}
}

// A handler without a gate has nobody to ask about.
func TestWithoutAGateThereIsNobody(t *testing.T) {
	if p := authzhttp.PrincipalOf(context.WithoutCancel(t.Context())); p != (authz.Principal{}) {
		t.Errorf("it is %s", p)
	}
	s := serve(t, func(o *authzhttp.Options, _ *authztest.World) {
		o.Respond = func(w http.ResponseWriter, _ *http.Request, status int, err error) { w.WriteHeader(status + 20) }
	})
	r := httptest.NewRecorder()
	if s.guard.Answer(r, httptest.NewRequest("GET", "/", nil), authzhttp.ErrNoResource); r.Code != 424 {
		t.Errorf("Respond writes no answer of a handler: %d", r.Code)
	}
}
