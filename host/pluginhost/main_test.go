package pluginhost_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/testprocess"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// asHost makes the test binary a host that starts one plugin and waits to be
// killed.
const asHost = "AUTHZ_PLUGINHOST_TEST_AS_HOST"

// asParent makes it a host that dies before it holds the lifeline.
const asParent = "AUTHZ_PLUGINHOST_TEST_AS_PARENT"

var binaries string

// asEmbedded is the first argument that makes the test binary a plugin, as a
// host's own binary is one.
const asEmbedded = "serve-embedded"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asEmbedded {
		p := memory.Plugin("embedded")
		p.Name = os.Args[2]
		plugin.Serve(p)
	}
	if dirs := os.Getenv(asHost); dirs != "" {
		beHost(dirs)
	}
	if binary := os.Getenv(asParent); binary != "" {
		beParent(binary)
	}
	if how := os.Getenv(asSwapper); how != "" {
		beSwapper(how)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pluginhost")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for name, folder := range map[string]string{"memory": "plugins/memory", "faulty": "host/pluginhost/testdata/faulty"} {
		if err := testprocess.BuildAs(filepath.Join(dir, "authz-plugin-"+name), folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	binaries = dir
	return m.Run()
}

// hostHangTimeout is that of the host which the test binary becomes.
const hostHangTimeout = 1500 * time.Millisecond

func beHost(config string) {
	dir, runDir, _ := strings.Cut(config, string(filepath.ListSeparator))
	h, err := pluginhost.New(pluginhost.Options{Dirs: []string{dir}, RunDir: runDir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p, err := h.Start(context.Background(), pluginhost.Spec{Name: "main", Plugin: "memory", HangTimeout: hostHangTimeout})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.Status().PID)
	select {}
}

func beParent(binary string) {
	child := exec.Command(binary)
	child.Env = []string{plugin.Handshake.MagicCookieKey + "=" + plugin.Handshake.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS=1"}
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(child.Process.Pid)
	select {}
}

// runDir is short, whatever the test is called.
func runDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ph")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newHost(t *testing.T, opts pluginhost.Options) *pluginhost.Host {
	t.Helper()
	if opts.RunDir == "" {
		opts.RunDir = runDir(t)
	}
	if opts.Dirs == nil {
		opts.Dirs = []string{binaries}
	}
	if opts.Logger == nil {
		opts.Logger = hclog.New(&hclog.LoggerOptions{Output: testLog{t}, Level: hclog.Warn})
	}
	h, err := pluginhost.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func startMemory(t *testing.T, h *pluginhost.Host) (*pluginhost.Plugin, storage.Driver) {
	t.Helper()
	p, err := h.Start(t.Context(), pluginhost.Spec{Name: "main", Plugin: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Storage()
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

func open(t *testing.T, d storage.Driver) storage.Store {
	t.Helper()
	s, err := d.Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// alive reports whether a process runs; one that waits to be reaped does not.
func alive(pid int) bool {
	if runtime.GOOS == "linux" {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(after, "Z")
	}
	return syscall.Kill(pid, 0) == nil
}

// eventually waits for what a busy machine may take long to bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	const limit = time.Minute
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %s: %s", limit, what)
}

func readPID(t *testing.T, out *bufio.Reader) int {
	t.Helper()
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
