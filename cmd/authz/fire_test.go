package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/stopped"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

var listensAt = regexp.MustCompile(`listen=(\S+)`)

// served is a host over a SQLite file.
func served(t *testing.T, change func(string) string) (s *shell, host *running, c *provider.Caller, pid func() int) {
	t.Helper()
	s = newShell(t)
	path := s.serveFile(func(text string) string { return change(overSQLite(text)) })
	host = s.start("serve", "--config", path)
	eventually(t, "the host is ready", func() bool { return listensAt.MatchString(host.errs.String()) })
	c = &provider.Caller{Base: "http://" + listensAt.FindStringSubmatch(host.errs.String())[1], Secret: "a-secret-of-the-test"}
	pid = func() int {
		var list struct{ Plugins []struct{ PID int } }
		out, _, _ := s.run("plugin", "list", "-o", "json", "--socket", filepath.Join(s.dir, "run", "authz.sock"))
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Plugins) != 1 {
			return 0
		}
		return list.Plugins[0].PID
	}
	return s, host, c, pid
}

// TestNoAnsweredWriteIsLostOrDoubled kills the driver again and again under
// writers: what was acknowledged is there once, what was refused is not.
func TestNoAnsweredWriteIsLostOrDoubled(t *testing.T) {
	_, host, c, pid := served(t, func(text string) string { return text })
	var (
		mu       sync.Mutex
		outcomes = map[string]error{}
		stop     = make(chan struct{})
		writers  sync.WaitGroup
	)
	for w := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				subject := fmt.Sprintf("user:w%d-%05d", w, n)
				err := c.Call(t.Context(), "createGrant", map[string]any{"input": map[string]any{
					"subject": subject, "pattern": "docs.files.read", "provenance": authz.AdminProvenance("root")}}, nil)
				mu.Lock()
				outcomes[subject] = err
				mu.Unlock()
			}
		})
	}
	kills := 0
	for range 5 {
		time.Sleep(300 * time.Millisecond)
		eventually(t, "a driver runs", func() bool { return pid() != 0 })
		if p := pid(); p != 0 && syscall.Kill(p, syscall.SIGKILL) == nil {
			kills++
		}
	}
	eventually(t, "many writes are acknowledged", func() bool {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for _, err := range outcomes {
			if err == nil {
				n++
			}
		}
		return n >= 20
	})
	close(stop)
	writers.Wait()
	eventually(t, "the host is ready again", func() bool { return c.Call(t.Context(), "countGrants", nil, nil) == nil })
	stored := map[string]int{}
	for _, g := range listGrants(t, c) {
		stored[g.Subject]++
	}
	acknowledged, refused, unknown := 0, 0, 0
	for subject, err := range outcomes {
		n := stored[subject]
		delete(stored, subject)
		var outage *authz.UnavailableError
		switch {
		case err == nil:
			acknowledged++
			if n != 1 {
				t.Errorf("the acknowledged grant to %s is there %d times", subject, n)
			}
		case errors.As(err, &outage) && outage.Outcome == authz.OutcomeUnknown:
			unknown++
			if n > 1 {
				t.Errorf("the grant of unknown fate to %s is there %d times", subject, n)
			}
		case errors.As(err, &outage):
			refused++
			if n != 0 {
				t.Errorf("the refused grant to %s is there %d times", subject, n)
			}
		default:
			t.Errorf("the grant to %s failed with %v", subject, err)
		}
	}
	if len(stored) > 0 {
		t.Errorf("%d grants are there that nobody made", len(stored))
	}
	if kills < 3 || acknowledged < 20 {
		t.Errorf("%d kills, %d acknowledged: nothing was proved\n%s", kills, acknowledged, host.errs.String())
	}
	t.Logf("%d kills: %d writes acknowledged, %d refused, %d of unknown fate", kills, acknowledged, refused, unknown)
}

// TestAHungDriverIsAnOutageAndNotForLong stops the driver's process, which
// nothing but the question whether it is alive can notice.
func TestAHungDriverIsAnOutageAndNotForLong(t *testing.T) {
	_, host, c, pid := served(t, func(text string) string {
		text = strings.Replace(text, "config: {path: docs.db}", "config: {path: docs.db}, hang_timeout: 1500ms", 1)
		return strings.Replace(text, "    provider:", "    client: {subject_cache_ttl: 10m}\n    provider:", 1)
	})
	grant := map[string]any{"input": map[string]any{"subject": "user:warm", "pattern": "docs.files.read", "provenance": authz.AdminProvenance("root")}}
	if err := c.Call(t.Context(), "createGrant", grant, nil); err != nil {
		t.Fatal(err)
	}
	ready := func() bool {
		r, err := http.Get(c.Base + "/readyz")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	}
	if !ready() {
		t.Fatal("not ready")
	}
	var p int
	eventually(t, "the driver runs", func() bool { p = pid(); return p != 0 }) // 0 would stop the test itself
	began := time.Now()
	if err := syscall.Kill(p, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(p, syscall.SIGCONT) }) // it should be gone
	if err := stopped.Await(p); err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() {
		asked <- c.Call(t.Context(), "check", map[string]any{"principal": map[string]string{"userId": "cold"}, "key": "docs.files.read"}, nil)
	}()
	eventually(t, "readiness tells", func() bool { return !ready() })
	var outage *authz.UnavailableError
	if err := <-asked; err != nil && !errors.As(err, &outage) {
		t.Errorf("a cold check gave %v", err)
	}
	eventually(t, "the host is ready again", ready)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the outage took %s", took)
	}
	if now := pid(); now == p || now == 0 {
		t.Errorf("the driver's process is %d, it was %d", now, p)
	}
	var answer struct{ Allowed bool }
	err := c.Call(t.Context(), "check", map[string]any{"principal": map[string]string{"userId": "warm"}, "key": "docs.files.read"}, &answer)
	if err != nil || !answer.Allowed {
		t.Errorf("afterwards %+v, %v", answer, err)
	}
	if !strings.Contains(host.errs.String(), "no sign of life") {
		t.Errorf("the log does not say why:\n%s", host.errs.String())
	}
}
