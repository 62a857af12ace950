package api_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// held is an application whose storage lets nothing through until it is told to.
type held struct {
	api.Backend
	begun chan string   // an operation's name when it has got here
	free  chan struct{} // closed to let all through
}

func (h *held) wait(ctx context.Context, op string) {
	select {
	case <-h.free:
		return
	default:
	}
	h.begun <- op
	select {
	case <-h.free:
	case <-ctx.Done():
	}
}

func (h *held) CreateGrant(ctx context.Context, in provider.GrantInput, p authz.Provenance) (authz.Grant, error) {
	h.wait(ctx, "createGrant")
	return h.Backend.CreateGrant(ctx, in, p)
}

func (h *held) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	h.wait(ctx, "getSubjectAccess")
	return h.Backend.GetSubjectAccess(ctx, p)
}

func (h *held) ListGrants(ctx context.Context, q provider.GrantQuery) iter.Seq2[authz.Grant, error] {
	h.wait(ctx, "listGrants")
	return h.Backend.ListGrants(ctx, q)
}

const oneGrant = `{"input":{"subject":"user:%s","pattern":"docs.files.delete",` + admin + `}}`

// crowd sends an operation until one is refused, and answers how many got in and
// the refusal.
func (w *world) crowd(h *held, all *sync.WaitGroup, op, body string) (in int, refused answer) {
	w.t.Helper()
	out := make(chan answer, 1)
	waiting := 0
	for {
		n := in + waiting
		all.Go(func() {
			a := w.post(op, strings.ReplaceAll(body, "%s", fmt.Sprintf("%s%d", op, n)))
			if a.status != http.StatusOK {
				select {
				case out <- a:
				default:
				}
			}
		})
		select {
		case got := <-h.begun:
			if got != op {
				w.t.Fatalf("%s began", got)
			}
			in++
		case refused = <-out:
			return in, refused
		}
	}
}

func TestWhatIsTooMuchIsRefusedWithItsFateAndATimeToComeAgain(t *testing.T) {
	for _, c := range []struct{ op, body, detail string }{
		{"createGrant", oneGrant, `,"detail":{"outcome":"not_applied"}`},
		{"getSubjectAccess", `{"principal":{"userId":"%s"}}`, ""},
		{"listGrants", `{}`, ""},
	} {
		t.Run(c.op, func(t *testing.T) {
			h := &held{begun: make(chan string, 1000), free: make(chan struct{})}
			limiter := admission.New(0)
			w := newWorld(t, worldOptions{limiter: limiter, decorate: func(app api.Backend) api.Backend {
				h.Backend = app
				return h
			}})
			var all sync.WaitGroup
			in, refused := w.crowd(h, &all, c.op, c.body)
			want := `{"error":{"name":"UnavailableError","code":"unavailable","message":"` + c.op +
				` was refused: the host is asked more than it can do; try again after 1s"` + c.detail + `}}`
			if refused.status != http.StatusServiceUnavailable || refused.body != want || refused.header.Get("Retry-After") != "1" {
				t.Errorf("refused with %d %v %s", refused.status, refused.header, refused.body)
			}
			if in < 16 || in > 100 {
				t.Errorf("%d run at once", in)
			}
			w.post("check", `{"principal":{"userId":"u"},"key":"docs.files.delete"}`).expectAllowed(t, false)
			close(h.free)
			all.Wait()
			if a := w.post(c.op, strings.ReplaceAll(c.body, "%s", "next")); a.status != http.StatusOK {
				t.Errorf("the next one is answered with %d %s", a.status, a.body)
			}
			for _, f := range limiter.Facts() {
				if f.Running != 0 || f.Waiting != 0 || f.Long != 0 {
					t.Errorf("a place is held for ever: %+v", f)
				}
			}
		})
	}
}

func (a answer) expectAllowed(t *testing.T, want bool) {
	t.Helper()
	if a.status != http.StatusOK || a.body != fmt.Sprintf(`{"allowed":%t}`, want) {
		t.Errorf("answered %d %s", a.status, a.body)
	}
}

func TestChecksAreRefusedWhenEverythingIsFull(t *testing.T) {
	limiter := admission.New(64)
	w := newWorld(t, worldOptions{limiter: limiter})
	var held []admission.Ticket
	for range 64 {
		ticket, err := limiter.Check()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, ticket)
	}
	for _, body := range []string{`{"principal":{"userId":"u"},"key":"docs.files.delete"}`, `{"principal":{"userId":"u"},"key":"docs.files.delete","scope":"\u002a"}`} {
		a := w.post("check", body)
		a.expectError(t, http.StatusServiceUnavailable, "UnavailableError", "unavailable", "check was refused")
		if a.header.Get("Retry-After") != "1" {
			t.Errorf("%v", a.header)
		}
	}
	held[0].Release()
	for _, body := range []string{`{"principal":{"userId":"u"},"key":"docs.files.delete"}`, `{"principal":{"userId":"u"},"key":"docs.files.delete","scope":"\u002a"}`} {
		w.post("check", body).expectAllowed(t, false)
	}
	w.post("ping", "{}").expectError(t, http.StatusServiceUnavailable, "UnavailableError", "unavailable", "ping was refused")
	if got := limiter.Facts()[0].Running; got != 63 {
		t.Errorf("%d are in flight", got)
	}
}

// Whatever becomes of a request, its place is given back.
func TestEveryEndOfARequestGivesItsPlaceBack(t *testing.T) {
	limiter := admission.New(64)
	w := newWorld(t, worldOptions{limiter: limiter, decorate: func(app api.Backend) api.Backend { return panicking{app} }})
	for _, o := range provider.Operations {
		for _, body := range []string{`{}`, `{"input":{}}`, `{"principal":{"userId":"u"},"grantId":"g","id":"x","roleId":"r","filter":{},"provenance":{"kind":"admin","actorUserId":"a"}}`} {
			w.post(o.Op, body)
		}
	}
	w.post("capabilities", "{}").expectError(t, http.StatusInternalServerError, "Error", "", "internal error")
	for _, f := range limiter.Facts() {
		if f.Running != 0 || f.Waiting != 0 {
			t.Errorf("%+v", f)
		}
	}
}

type panicking struct{ api.Backend }

func (panicking) Capabilities(context.Context) (provider.Capabilities, error) { panic("on purpose") }
