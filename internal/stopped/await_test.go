package stopped_test

import (
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/authzhost/authz/internal/stopped"
)

func TestAwait(t *testing.T) {
	spin := exec.Command("sh", "-c", "while :; do :; done")
	if err := spin.Start(); err != nil {
		t.Skip("SKIPPED: there is no sh: ", err)
	}
	t.Cleanup(func() { _ = spin.Process.Kill(); _ = spin.Wait() })
	if err := spin.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := stopped.Await(spin.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := spin.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = spin.Wait()
	if err := stopped.Await(spin.Process.Pid); runtime.GOOS == "linux" && (err == nil || !strings.Contains(err.Error(), "has ended")) {
		t.Errorf("a process that has ended: %v", err)
	}
}
