package host

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	// takeoverTime bounds one look at the stored authority with what follows.
	takeoverTime = 30 * time.Second

	// takeoverPause is how long a look that failed waits for the next.
	takeoverPause = time.Second
)

// moves makes the host serve an application of the stored authority: at once when
// this host applied a snapshot, else when event all tells that some host may have
// (spec: architecture §9.5).
type moves struct {
	app    *served
	log    hclog.Logger
	heard  chan struct{}
	ctx    context.Context
	end    context.CancelFunc
	done   chan struct{}
	forget func()

	mu    sync.Mutex // held while one application takes another's place
	build func(*Application) (http.Handler, error)
}

func watchAuthority(app *served, log hclog.Logger) *moves {
	m := &moves{app: app, log: log, heard: make(chan struct{}, 1), done: make(chan struct{})}
	m.ctx, m.end = context.WithCancel(context.Background())
	m.forget = app.current.Load().OnInvalidate(func(e authz.Event) {
		if e.Type != authz.EventAll {
			return
		}
		select {
		case m.heard <- struct{}{}:
		default: // one look is as good as many
		}
	})
	m.heard <- struct{}{} // it may have moved since the application read it
	go m.watch()
	return m
}

func (m *moves) watch() {
	defer close(m.done)
	for {
		select {
		case <-m.heard:
		case <-m.ctx.Done():
			return
		}
		for m.ctx.Err() == nil {
			err := m.follow(m.ctx)
			if err == nil {
				break
			}
			m.log.Debug("the stored authority could not be followed yet", "error", err)
			select {
			case <-time.After(takeoverPause):
			case <-m.ctx.Done():
			}
		}
	}
}

// follow puts an application of the stored authority in the place of one that has
// another. Requests in flight end on the one that they began with: it writes by
// the record too, so nothing is written twice or by the wrong one.
func (m *moves) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, takeoverTime)
	defer cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.app.current.Load()
	orgRoot, err := before.StoredOrgRoot(ctx)
	if err != nil || orgRoot == before.OrgRoot() || m.ctx.Err() != nil {
		return err
	}
	o := m.app.options
	o.Succeeds = before.Application
	next, err := application.New(ctx, o)
	if err != nil {
		return err
	}
	successor, err := m.successor(before, next)
	if err != nil {
		_ = next.Close() // it has done nothing
		return err
	}
	m.app.current.Store(successor)
	m.log.Info("authority moved", "orgRoot", next.OrgRoot())
	return before.Application.Close()
}

// successor is what takes the place of an application. It is asked by the same client.
func (m *moves) successor(before *Application, next *application.Application) (s *Application, err error) {
	s = &Application{Application: next, served: m.app, client: before.client, byPeople: before.byPeople}
	if m.build != nil {
		s.handler, err = m.build(s)
	}
	return s, err
}

// stop ends the watch; no application takes another's place from then on.
func (m *moves) stop() {
	m.forget()
	m.end()
	<-m.done
	m.mu.Lock() // of a request that applied a snapshot
	defer m.mu.Unlock()
}

// serveWith answers each request by the application as it is when the request
// arrives. build makes the handler of one.
func (a *served) serveWith(build func(*Application) (http.Handler, error)) (http.Handler, error) {
	a.moves.mu.Lock()
	defer a.moves.mu.Unlock()
	now := a.current.Load()
	handler, err := build(now)
	if err != nil {
		return nil, err
	}
	a.moves.build = build
	served := *now
	served.handler = handler
	a.current.Store(&served)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.current.Load().handler.ServeHTTP(w, r)
	}), nil
}

// AuthorityChanged is told of a snapshot that this host applied. What counts is
// the record: it may have moved again since.
func (a *Application) AuthorityChanged(ctx context.Context, _ bool) error {
	return a.moves.follow(ctx)
}
