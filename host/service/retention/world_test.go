package retention_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/internal/remote"
	testworld "github.com/authzhost/authz/host/service/internal/world"
	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type world struct {
	*testworld.World
	*retention.Retention
}

// newWorld has time for every run to reach the log's end.
func newWorld(t *testing.T) *world { return newWorldOf(t, time.Hour) }

func newWorldOf(t *testing.T, runTime time.Duration) *world {
	t.Helper()
	w := testworld.New(t, memory.New(memory.Options{}), "acme")
	return &world{w, retention.New(retention.Options{Store: w.Store, Applications: w.Entries, Meters: w.Meters, RunTime: runTime})}
}

// serve registers, links and opts in a real application with a chained log.
func (w *world) serve(id string) *remote.Remote {
	w.T.Helper()
	w.Register(id, id)
	r := w.Serve(remote.Options{ID: id, AuditOptIn: true, HashChain: true, Clock: w.Clock.Load,
		Catalog: fmt.Sprintf(`{"namespaces":[%q],"permissions":{"%s.files.read":true}}`, id, id)})
	_, err := w.Entries.SetAuditOptIn(w.T.Context(), "u_1", "acme", id, true)
	w.Must(err)
	return r
}

// write makes n entries in the log of an application.
func (w *world) write(r *remote.Remote, n int) {
	w.T.Helper()
	for range n {
		w.Clock.Add(1)
		_, err := r.App.CreateGrant(w.T.Context(), provider.GrantInput{Subject: "user:u_9", Pattern: "*"}, authz.AdminProvenance("root"))
		w.Must(err)
	}
}

func (w *world) ingest(id string) retention.Result {
	w.T.Helper()
	r, err := w.Ingest(w.T.Context(), "u_1", "acme", id)
	w.Must(err)
	return r
}

func (w *world) retained(f retention.Filter) []retention.Event {
	w.T.Helper()
	page, _, err := w.Page(w.T.Context(), "acme", f, "", 1<<20)
	w.Must(err)
	return page
}

// newest is the cursor of the newest retained event.
func (w *world) newest() authz.AuditCursor {
	w.T.Helper()
	kept := w.retained(retention.Filter{})
	return kept[len(kept)-1].Cursor()
}

// liar answers as an application would, from entries that a test makes up.
type liar struct {
	mu      sync.Mutex
	entries []authz.AuditEntry
	blunt   bool // answers everything whatever is asked
}

func (l *liar) set(entries ...authz.AuditEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = entries
}

func (l *liar) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/v1/ping" {
		_, _ = w.Write([]byte(`{"api":1,"application":"docs","orgRoot":true,"hasEpoch":false,"auditOptIn":true}`))
		return
	}
	var in struct {
		Filter struct {
			Cursor authz.AuditCursor `json:"cursor"`
			Limit  int               `json:"limit"`
		} `json:"filter"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	l.mu.Lock()
	defer l.mu.Unlock()
	page := []authz.AuditEntry{}
	for _, e := range l.entries {
		if len(page) < in.Filter.Limit && (in.Filter.Cursor.Before(e.Cursor()) || l.blunt) {
			page = append(page, e)
		}
	}
	out, _ := authz.Marshal(map[string]any{"events": page})
	_, _ = w.Write(out)
}

func codeOf(err error) string {
	if f := new(fault.Error); errors.As(err, &f) {
		return f.Code
	}
	return ""
}

func to[T any](v T) *T { return &v }
