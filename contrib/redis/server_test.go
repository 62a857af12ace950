package redis_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/freeport"
	goredis "github.com/redis/go-redis/v9"
)

const password = "for this test only"

// startServer runs a redis-server of the test's own on a free loopback port, and
// ends it with the test.
func startServer(t *testing.T) (conn *goredis.Client, stop func()) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if binary, err = exec.LookPath("valkey-server"); err != nil {
			t.Skip("SKIPPED: there is no redis-server on the PATH (`make redis` installs one); the adapter is NOT tested")
		}
	}
	port, err := freeport.Port()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(binary, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--requirepass", password,
		"--save", "", "--appendonly", "no", "--dir", t.TempDir(), "--daemonize", "no")
	endWithTest(server)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait()
	}()
	stop = func() {
		_ = server.Process.Kill()
		<-ended
	}
	t.Cleanup(stop)
	conn = goredis.NewClient(&goredis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Password: password,
		ContextTimeoutEnabled: true, MaxRetries: -1, DialTimeout: time.Second})
	t.Cleanup(func() { _ = conn.Close() })
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := conn.Ping(context.Background()).Err()
		if err == nil {
			return conn, stop
		}
		select {
		case <-ended:
			t.Fatal("redis-server ended at once")
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
