//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/sdk/provider"
)

// host is one `authz serve`, started again whenever it is killed.
type host struct {
	name   string
	stage  *stage
	dir    string
	listen string
	caller *provider.Caller
	local  *adminsocket.Client

	mu      sync.Mutex
	process *exec.Cmd // nil between two lives
	ended   chan struct{}
	closing bool
	lives   int
}

func (s *stage) newHost(name string) (*host, error) {
	listen, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	h := &host{name: name, stage: s, dir: filepath.Join(s.dir, name), listen: listen}
	h.caller = &provider.Caller{Base: "http://" + listen + "/apps/" + application, Secret: s.secret, Transport: &http.Transport{}}
	h.local = adminsocket.New(filepath.Join(h.dir, "authz.sock"))
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	return h, os.WriteFile(h.dir+".yaml", []byte(s.configuration(h)), 0o600)
}

// serve starts a life.
func (h *host) serve() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil
	}
	log, err := os.OpenFile(h.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(filepath.Join(h.stage.dir, "authz"), "serve", "--config", h.dir+".yaml")
	process.Env = append(os.Environ(), "FAULTS_SECRET="+h.stage.secret)
	process.Stdout, process.Stderr = log, log
	// A group of its own: an interrupt of this command is not one of the host.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := process.Start(); err != nil {
		return err
	}
	h.lives++
	ended := make(chan struct{})
	h.process, h.ended = process, ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	return nil
}

// signal sends a signal to the present life.
func (h *host) signal(s syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process.Process.Signal(s)
}

// kill ends the present life, if it has not ended by itself, and begins the next one
// after a while.
func (h *host) kill(down time.Duration) (hit bool, err error) {
	if hit, err = reached(h.signal(syscall.SIGKILL)); err != nil {
		return hit, err
	}
	<-h.ended
	time.Sleep(down)
	return hit, h.serve()
}

// pluginPID asks the host for the process of its plugin, 0 when there is none or
// no answer.
func (h *host) pluginPID(ctx context.Context) int {
	var answer struct {
		Plugins []struct {
			PID int `json:"pid"`
		} `json:"plugins"`
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := h.local.Host(ctx, "plugins", nil, &answer); err != nil || len(answer.Plugins) != 1 {
		return 0
	}
	return answer.Plugins[0].PID
}

// ready waits until the host says so.
func (h *host) ready(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said := "nothing"
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.listen+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if said = response.Status; response.StatusCode == http.StatusOK {
				return nil
			}
		} else if ctx.Err() == nil {
			said = err.Error()
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("host %s is not ready within %s: it answered %s", h.name, within, said)
		}
	}
}

// close asks the host to stop and waits for it.
func (h *host) close() error {
	h.mu.Lock()
	h.closing = true
	process, ended := h.process, h.ended
	h.mu.Unlock()
	if process == nil {
		return nil
	}
	_ = process.Process.Signal(syscall.SIGCONT)
	_ = process.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
		return nil
	case <-time.After(20 * time.Second):
		_ = process.Process.Kill()
		<-ended
		return fmt.Errorf("host %s did not stop within 20s", h.name)
	}
}

// lastLines are the end of the host's log.
func (h *host) lastLines() string {
	text, err := os.ReadFile(h.dir + ".log")
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
