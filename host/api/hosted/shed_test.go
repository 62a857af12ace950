package hosted

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/host/internal/admission"
)

// fill takes every place of a class; empty gives them back.
func fill(t *testing.T, l *admission.Limiter, class admission.Class) (empty func()) {
	t.Helper()
	var held []admission.Ticket
	for {
		ticket, err := l.Acquire(t.Context(), class, time.Hour, 0)
		if err != nil {
			return func() {
				for _, ticket := range held {
					ticket.Release()
				}
			}
		}
		held = append(held, ticket)
	}
}

func TestARequestThatIsTooMuchIsRefusedAtOnce(t *testing.T) {
	for _, c := range []struct {
		class              admission.Class
		method, path, body string
		passes             []string // GETs that others keep
	}{
		{admission.Write, "POST", "/orgs/acme/seats", `{"userId":"u_new"}`, []string{"/orgs/acme", "/orgs/acme/seats"}},
		{admission.List, "GET", "/orgs/acme/seats", "", []string{"/orgs/acme"}},
		{admission.Read, "GET", "/orgs/acme", "", nil},
	} {
		t.Run(c.class.String(), func(t *testing.T) {
			w := newWorld(t)
			owner := w.acme()
			w.api.o.Limiter = admission.New(0)
			empty := fill(t, w.api.o.Limiter, c.class)
			refused := owner.call(c.method, c.path, c.body).want(t, 503, "storage_unavailable")
			if refused.header.Get("Retry-After") != "1" || refused.text("error", "name") != "InternalError" || refused.at("error", "outcome") != nil {
				t.Errorf("%v %s", refused.header, refused.raw)
			}
			for _, path := range c.passes {
				owner.call("GET", path, "").want(t, 200, "")
			}
			if n := strings.Count(w.logs.String(), "asked more than it can do"); n != 1 || strings.Contains(w.logs.String(), "a request failed") {
				t.Errorf("a refusal is told %d times:\n%s", n, w.logs.String())
			}
			empty()
			if r := owner.call(c.method, c.path, c.body); r.status != 200 && r.status != 201 {
				t.Errorf("afterwards: %d %s", r.status, r.raw)
			}
			for _, f := range w.api.o.Limiter.Facts() {
				if f.Running != 0 || f.Waiting != 0 || f.Long != 0 {
					t.Errorf("left behind: %+v", f)
				}
			}
		})
	}
}

// An application that gives no answer takes no places from those who ask for
// something else.
func TestASilentApplicationCrowdsNobodyOut(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	w.api.o.Limiter = admission.New(0)
	arrived, answer := make(chan struct{}, 200), make(chan struct{})
	far := w.far.Config.Handler
	w.far.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/listGrants") {
			arrived <- struct{}{}
			<-answer
		}
		far.ServeHTTP(rw, r)
	})
	const many = 100 // of a limit of 32 and a queue of 16
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if r := owner.call("GET", "/orgs/acme/org/grants", ""); r.status != 200 {
				t.Errorf("%d %s", r.status, r.raw)
				arrived <- struct{}{}
			}
		})
		<-arrived
	}
	owner.call("GET", "/orgs/acme/seats", "").want(t, 200, "")
	if f := w.api.o.Limiter.Facts()[3]; f.Running != 0 || f.Refused != 0 {
		t.Errorf("%+v", f)
	}
	close(answer)
	all.Wait()
	for _, f := range w.api.o.Limiter.Facts() {
		if f.Running != 0 || f.Waiting != 0 || f.Long != 0 {
			t.Errorf("left behind: %+v", f)
		}
	}
}
