package host_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/testlog"
	"github.com/authzhost/authz/sdk/provider"
)

// localCaller speaks to the administration socket; operations are "app/op".
func localCaller(h *host.Host) *provider.Caller { return adminsocket.New(h.Socket()).Caller() }

func kill(t testing.TB, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatalf("no process: %d", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// executioner is a log that kills the first plugin that is said to have been
// restarted, while the line is being written: before anybody uses the process.
type executioner struct {
	testlog.Log
	once sync.Once
	pid  int
}

var restartedLine = regexp.MustCompile(`plugin restarted:.* pid=(\d+)`)

func (e *executioner) Write(b []byte) (int, error) {
	if m := restartedLine.FindSubmatch(b); m != nil {
		e.once.Do(func() {
			e.pid, _ = strconv.Atoi(string(m[1]))
			_ = syscall.Kill(e.pid, syscall.SIGKILL)
			for alive(e.pid) { // until its supervisor has waited for it
				time.Sleep(time.Millisecond)
			}
		})
	}
	return e.Log.Write(b)
}

func TestAPluginThatDiesAgainBeforeItsStoresAreOpenIsStartedAgain(t *testing.T) {
	log := &executioner{}
	h, err := host.Open(t.Context(), configure(t, ""), host.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: log})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHost(t, h) })
	var list struct {
		Plugins []struct{ PID, Restarts int }
	}
	plugins := func() {
		if err := localCaller(h).Call(t.Context(), "_host/plugins", nil, &list); err != nil {
			t.Fatal(err)
		}
	}
	plugins()
	kill(t, list.Plugins[0].PID)
	eventually(t, "a third process serves", func() bool {
		plugins()
		return list.Plugins[0].Restarts == 2 && strings.Contains(log.String(), "STORAGE LOST")
	})
}

func TestACallerWhoStallsDoesNotCostThePluginItsStop(t *testing.T) {
	cfg := configure(t, "")
	cfg.ShutdownTimeout = 200 * time.Millisecond
	log := &testlog.Log{}
	h, err := host.Open(t.Context(), cfg, host.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: log})})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", h.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/ping HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", testSecret)
	if _, err := conn.Read(make([]byte, 1)); err != nil { // its body is being waited for
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := h.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the request that was cut off is not told: %v", err)
	}
	if text := log.String(); !strings.Contains(text, "plugin process exited") || strings.Contains(text, "killed") {
		t.Errorf("the plugin was not stopped in order:\n%s", text)
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
