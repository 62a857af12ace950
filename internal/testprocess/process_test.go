package testprocess

import (
	"os/exec"
	"sync"
	"testing"
)

func TestAProcessMayBeStoppedByTwo(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("SKIPPED: there is no sh")
	}
	p, err := Start(shell, "-c", "echo ready; cat; exit 0")
	if err != nil || p.Line != "ready" {
		t.Fatalf("%q, %v", p.Line, err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
}
