package pluginhost

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"github.com/hashicorp/go-plugin/runner"
)

// child is one process, as go-plugin's runner. Unlike go-plugin's own it leads
// a process group, so that its children go with it, and has none of the host's
// standard input.
type child struct {
	prog   program
	file   string // executed
	dir    string
	cmd    *exec.Cmd
	stdout *tap
	stderr io.ReadCloser

	mu      sync.Mutex
	started bool
	killed  bool          // before it was reaped
	exited  chan struct{} // closed when the process is reaped
}

var _ runner.Runner = (*child)(nil)

func newChild(prog program, file, dir string) *child {
	return &child{prog: prog, file: file, dir: dir, stdout: &tap{}, exited: make(chan struct{})}
}

// prepare gives the process its environment; go-plugin knows its part of that
// only when it asks for the runner.
func (c *child) prepare(env []string) (err error) {
	c.cmd = exec.Command(c.file, c.prog.args...)
	c.cmd.Args[0] = c.prog.path
	c.cmd.Dir = c.dir
	c.cmd.Env = env
	c.cmd.SysProcAttr = attributes()
	if c.stdout.ReadCloser, err = c.cmd.StdoutPipe(); err != nil {
		return err
	}
	c.stderr, err = c.cmd.StderrPipe()
	return err
}

var errKilledEarly = errors.New("the start was given up")

func (c *child) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return errKilledEarly
	}
	started := make(chan error)
	go func() {
		// The process dies with the thread that started it (attributes), which
		// must therefore live as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			<-c.exited
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.started = true
	return nil
}

// Wait reaps the process, and ends what it left behind in its group. That this host
// killed it is no error: go-plugin would log it as one, which reads like a lack of memory.
func (c *child) Wait(context.Context) error {
	err := c.cmd.Wait()
	c.mu.Lock()
	c.killGroup()
	close(c.exited)
	c.mu.Unlock()
	if !c.endedItself() {
		return nil
	}
	return err
}

func (c *child) Kill(context.Context) error {
	c.kill()
	return nil
}

// kill ends the whole group, while its number is certainly the process's own.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state() != nil {
		return
	}
	c.killed = true
	if c.started {
		c.killGroup()
	}
}

func (c *child) killGroup() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

func (c *child) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started {
		return 0
	}
	return c.cmd.Process.Pid
}

// state is how the process ended, nil while it runs or when it never did.
func (c *child) state() *os.ProcessState {
	select {
	case <-c.exited:
		return c.cmd.ProcessState
	default:
		return nil
	}
}

// endedItself tells a process that ended, by whatever cause, from one that this
// host killed.
func (c *child) endedItself() bool {
	state := c.state()
	if state == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && !(c.killed && status.Signaled() && status.Signal() == syscall.SIGKILL)
}

func (c *child) Stdout() io.ReadCloser { return c.stdout }
func (c *child) Stderr() io.ReadCloser { return c.stderr }
func (c *child) Name() string          { return c.prog.path }
func (c *child) ID() string            { return strconv.Itoa(c.pid()) }

func (c *child) Diagnose(context.Context) string { return "" }

func (c *child) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// tap remembers the first line that passes: the handshake, or what stands in
// its place.
type tap struct {
	io.ReadCloser
	mu    sync.Mutex
	first []byte
	done  bool
}

// keepHandshake bounds the first line; a handshake carries a certificate.
const keepHandshake = 8 << 10

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.done {
		line, _, ended := bytes.Cut(p[:n], []byte{'\n'})
		t.first = append(t.first, line...)
		t.done = ended || len(t.first) > keepHandshake
	}
	return n, err
}

func (t *tap) firstLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.first))
}
