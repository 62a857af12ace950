package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// lists reads every grant from a host process of its own, whole and in pages, and
// watches how much memory host and plugin take for it.
func lists(ctx context.Context, o Options, add func(string, string, ...any)) (err error) {
	p, err := serve(ctx, o, "lists", partition)
	if err != nil {
		return err
	}
	defer p.stop(&err)
	// Once, so that what is loaded at first use is not taken for the list's.
	if _, _, err := page(ctx, p.base, "", 1000); err != nil {
		return err
	}
	p.settle()
	err = p.watch("list of all grants, whole", o.Grants, add, func() (int, error) { return whole(ctx, p.base) })
	if err != nil {
		return err
	}
	return p.watch("list of all grants, in pages of 10,000", o.Grants, add, func() (int, error) {
		rows, after := 0, ""
		for {
			n, next, err := page(ctx, p.base, after, 10_000)
			if rows += n; err != nil || next == "" {
				return rows, err
			}
			after = next
		}
	})
}

// process is a host in a process of its own, its plugin in another.
type process struct {
	cmd  *exec.Cmd
	base string
	pids [2]int // plugin, host
	idle [2]int64
}

func serve(ctx context.Context, o Options, name, partition string) (*process, error) {
	if _, err := configure(o, name, partition); err != nil {
		return nil, err
	}
	dir := filepath.Join(o.Dir, name)
	cmd := exec.CommandContext(ctx, filepath.Join(o.Bin, "authz"), "serve", "--config", filepath.Join(dir, "host.yaml"))
	cmd.Env = append(os.Environ(), "SECRET="+secret)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	plugins := []int(nil)
	if p.base, err = ready(log); err == nil {
		plugins, err = children(cmd.Process.Pid)
	}
	if err == nil && len(plugins) != 1 {
		err = fmt.Errorf("the host has %d child processes, not the plugin alone", len(plugins))
	}
	if err != nil {
		p.stop(&err)
		return nil, err
	}
	p.pids = [2]int{plugins[0], cmd.Process.Pid}
	return p, nil
}

func (p *process) stop(err *error) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	*err = errors.Join(*err, p.cmd.Wait())
}

// settle takes what host and plugin hold now for idle.
func (p *process) settle() { p.idle = resident(p.pids) }

// watch times f, which reads at least so many rows, and says how much memory it took.
func (p *process) watch(what string, least int, add func(string, string, ...any), f func() (int, error)) error {
	done, peak := make(chan struct{}), make(chan [2]int64)
	go func() { peak <- watchMemory(p.pids, done) }()
	start := time.Now()
	rows, err := f()
	took := time.Since(start)
	close(done)
	most := <-peak
	if err == nil && rows < least {
		err = fmt.Errorf("%s: cut after %d of %d rows", what, rows, least)
	}
	if err == nil {
		add(what, "%d rows, %.0f rows/s; above idle: plugin %d MiB, host %d MiB", rows, float64(rows)/took.Seconds(),
			(most[0]-p.idle[0])>>20, (most[1]-p.idle[1])>>20)
	}
	return err
}

// ready finds the address in the host's log, and goes on reading it.
func ready(log io.Reader) (base string, err error) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "listen="); ok && strings.Contains(lines.Text(), "ready") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return "http://" + strings.Fields(address)[0], nil
		}
	}
	return "", errors.Join(errors.New("the host did not become ready"), lines.Err())
}

func post(ctx context.Context, base, operation, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/"+operation, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%s: %s %s", operation, res.Status, answer)
	}
	return res, err
}

// whole counts rows without keeping them, by a member that every row has once: no
// text of the world's rows contains it.
func whole(ctx context.Context, base string) (rows int, err error) {
	res, err := post(ctx, base, "listGrants", `{}`)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	const marker = `"createdAt":`
	buffer, rest := make([]byte, 64<<10), []byte(nil)
	for {
		n, err := res.Body.Read(buffer)
		chunk := append(rest, buffer[:n]...)
		rows += bytes.Count(chunk, []byte(marker))
		rest = append([]byte(nil), chunk[max(0, len(chunk)-len(marker)+1):]...)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
	}
}

func page(ctx context.Context, base, after string, limit int) (rows int, next string, err error) {
	ask := map[string]any{"limit": limit}
	if after != "" {
		ask["after"] = after
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return 0, "", err
	}
	res, err := post(ctx, base, "listGrants", string(body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var answer struct {
		Grants []struct{} `json:"grants"`
		Next   string     `json:"next"`
	}
	err = json.NewDecoder(res.Body).Decode(&answer)
	return len(answer.Grants), answer.Next, err
}

// children are those of every thread: the kernel lists a process with the thread that
// started it.
func children(pid int) (pids []int, err error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	for _, path := range lists {
		list, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(list)) {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			pids = append(pids, n)
		}
	}
	return pids, nil
}

// resident is the memory of the plugin and of the host, bytes.
func resident(pids [2]int) (sizes [2]int64) {
	for i, pid := range pids {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if fields := strings.Fields(string(status)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			sizes[i] = pages * int64(os.Getpagesize())
		}
	}
	return sizes
}

func watchMemory(pids [2]int, done <-chan struct{}) (most [2]int64) {
	var stop atomic.Bool
	go func() { <-done; stop.Store(true) }()
	for {
		now := resident(pids)
		most = [2]int64{max(most[0], now[0]), max(most[1], now[1])}
		if stop.Load() {
			return most
		}
		time.Sleep(10 * time.Millisecond)
	}
}
