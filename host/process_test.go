package host_test

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/sdk/provider"
)

// localCaller speaks to the administration socket; operations are "app/op".
func localCaller(h *host.Host) *provider.Caller {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.Socket())
	}
	return &provider.Caller{Base: "http://local/local", Transport: &http.Transport{DialContext: dial}}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatalf("no process: %d", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
