package testprocess

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Process is a running server. It ends when its standard input does, so also with
// the test that was killed.
type Process struct {
	Line string // what it printed first: where it is

	child *exec.Cmd
	stdin io.Closer
	stop  func() error
}

// Start runs a program and waits until it has printed a line.
func Start(binary string, args ...string) (*Process, error) {
	p := &Process{child: exec.Command(binary, args...)}
	p.stop = sync.OnceValue(func() error {
		_ = p.stdin.Close()
		return p.child.Wait()
	})
	p.child.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.child.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.child.Start(); err != nil {
		return nil, err
	}
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- strings.TrimSpace(line)
	}()
	select {
	case p.Line = <-lines:
	case <-time.After(time.Minute):
	}
	if p.Line == "" {
		_ = p.child.Process.Kill()
		return nil, errors.Join(fmt.Errorf("%s did not become ready", filepath.Base(binary)), p.child.Wait())
	}
	return p, nil
}

// Stop ends the process. It may be called again, also meanwhile: a test ends a server
// in the middle of something, its cleanup in any case.
func (p *Process) Stop() error { return p.stop() }

// Kill ends the process as a crash does, and returns when it is gone.
func (p *Process) Kill() error {
	err := p.child.Process.Kill()
	_ = p.stop() // says that it was killed
	return err
}
