package main

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// The host starts its plugin from whatever thread it is on.
func TestChildrenOfEveryThread(t *testing.T) {
	child, started := exec.Command("sleep", "60"), make(chan error)
	var start func()
	start = func() {
		runtime.LockOSThread() // and never given back: the child is listed with it
		if syscall.Gettid() == os.Getpid() {
			go start()
			select {}
		}
		started <- child.Start()
		select {}
	}
	go start()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	pids, err := children(os.Getpid())
	if err != nil || !slices.Contains(pids, child.Process.Pid) {
		t.Errorf("%v, %v; the child is %d", pids, err, child.Process.Pid)
	}
}
