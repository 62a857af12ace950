package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// busyPlugin is the memory driver on a machine that does one commit at a time, each in
// 25 ms.
func busyPlugin(version string) plugin.Plugin {
	p := memory.Plugin(version)
	p.Name = "busy"
	configure := p.Storage.Configure
	p.Storage.Configure = func(ctx context.Context, settings map[string]any) (storage.Driver, error) {
		d, err := configure(ctx, settings)
		return &busyDriver{Driver: d}, err
	}
	return p
}

type busyDriver struct {
	storage.Driver
	turn sync.Mutex
}

func (d *busyDriver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	return &busyStore{s, d}, err
}

type busyStore struct {
	storage.Store
	driver *busyDriver
}

func (s *busyStore) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	s.driver.turn.Lock()
	defer s.driver.turn.Unlock()
	time.Sleep(25 * time.Millisecond)
	return s.Store.Commit(ctx, c)
}

func openBusy(t testing.TB, extra string) *host.Host {
	t.Helper()
	cfg := configure(t, extra)
	busy := cfg.Plugins.Instances["main"]
	busy.Plugin = "busy"
	cfg.Plugins.Instances["main"] = busy
	h, err := host.Open(t.Context(), cfg, host.Options{Version: "test", Embedded: embedded(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, h) })
	return h
}

// inHand is how many requests of the provider API wait to be admitted or are worked on.
// One that is being read or refused holds nothing but its connection.
func inHand(t testing.TB) (n int) {
	t.Helper()
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		count, _, _ := strings.Cut(stack, " @")
		if k, err := strconv.Atoi(strings.TrimSpace(count)); err == nil && strings.Contains(stack, "providerHandler).ServeHTTP") &&
			(strings.Contains(stack, "admission.(*Limiter).Acquire") || strings.Contains(stack, "application.(*Application)")) {
			n += k
		}
	}
	return n
}

func TestAHostIsNotDrownedInWrites(t *testing.T) {
	h := openBusy(t, "")
	call(t, caller(h), "createGrant", object{"input": object{"subject": "user:warm", "pattern": "docs.files.read", "provenance": root}})
	warm := object{"principal": object{"userId": "warm"}, "key": "docs.files.read"}
	call(t, caller(h), "check", warm)

	const writers, each = 300, 3
	connections := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
	t.Cleanup(connections.CloseIdleConnections)
	var mu sync.Mutex
	answers := map[int]int{}
	write := func(user string) int {
		body := fmt.Sprintf(`{"input":{"subject":"user:%s","pattern":"docs.files.read","provenance":{"kind":"admin","actorUserId":"root"}}}`, user)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.Address()+"/v1/createGrant", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header.Set("Authorization", "Bearer "+testSecret)
		answer, err := connections.Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
			return 0
		}
		var refused struct {
			Error struct {
				Name   string
				Detail struct{ Outcome string }
			}
		}
		if answer.StatusCode == http.StatusServiceUnavailable && (json.Unmarshal(text, &refused) != nil || refused.Error.Name != "UnavailableError" ||
			refused.Error.Detail.Outcome != "not_applied" || answer.Header.Get("Retry-After") != "1") {
			t.Errorf("refused with %v %s", answer.Header, text)
		}
		return answer.StatusCode
	}
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for j := range each {
				status := write(fmt.Sprintf("u%d_%d", i, j))
				mu.Lock()
				answers[status]++
				mu.Unlock()
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	most, checks := 0, 0
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
			most = max(most, inHand(t))
			if call(t, caller(h), "check", warm)["allowed"] != true {
				t.Error("a warm check is denied")
			}
			checks++
			time.Sleep(10 * time.Millisecond)
		}
	}
	t.Logf("answers %v, at most %d in hand, %d checks meanwhile", answers, most, checks)
	if most > writers/2 {
		t.Errorf("%d requests were in hand at once", most)
	}
	if answers[http.StatusOK] == 0 || answers[http.StatusServiceUnavailable] == 0 || answers[http.StatusOK]+answers[http.StatusServiceUnavailable] != writers*each {
		t.Errorf("answers %v", answers)
	}
	if checks == 0 {
		t.Error("no check was asked meanwhile")
	}
	if status := write("next"); status != http.StatusOK {
		t.Errorf("after the load a write is answered with %d", status)
	}
	// What was refused was not applied, and what was not refused was.
	stored := call(t, caller(h), "countGrants", object{"filter": object{}})["count"]
	if want := float64(answers[http.StatusOK] + 2); stored != want {
		t.Errorf("%v grants are stored, want %v", stored, want)
	}
	facts := metricsOf(t, h)
	for _, want := range []string{`authz_admission_waiting{app="docs",class="write"} 0`, `authz_admission_running{app="docs",class="write"} 0`,
		`authz_admission_refused_total{app="docs",class="write"} ` + strconv.Itoa(answers[http.StatusServiceUnavailable]),
		`authz_admission_refused_total{app="docs",class="check"} 0`} {
		if !strings.Contains(facts, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func TestTheAdmissionOfTheHostedAPIIsTold(t *testing.T) {
	h, _ := openService(t, serve(t, nil))
	answer, err := http.Get("http://" + h.Address() + "/api/v1/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	facts := metricsOf(t, h)
	for _, want := range []string{`authz_admission_admitted_total{app="__service",class="read"} 1`, `authz_admission_limit{app="__service",class="check"} 4096`} {
		if !strings.Contains(facts, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func metricsOf(t testing.TB, h *host.Host) string {
	t.Helper()
	answer, err := http.Get("http://" + h.OpsAddress() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	facts, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(facts)
}
