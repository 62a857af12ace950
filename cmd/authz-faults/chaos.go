//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// faultKind is what is done to which process.
type faultKind string

const (
	killHost     faultKind = "host killed"
	killPlugin   faultKind = "plugin killed"
	killDatabase faultKind = "database killed"
	killBackend  faultKind = "database backend killed"
	stopHost     faultKind = "host stopped"
	stopPlugin   faultKind = "plugin stopped"
	stopDatabase faultKind = "database stopped"
)

// fault is one step of the plan. Of pauses only the share of the mean is planned:
// the clock decides the rest.
type fault struct {
	kind  faultKind
	host  int
	pause float64
	down  time.Duration // until a killed process starts again, or a stopped one goes on
}

// faults counts what was done.
type faults struct {
	done  atomic.Int64
	stops atomic.Int64
	kinds [7]atomic.Int64
}

var faultKinds = []faultKind{killHost, killPlugin, killDatabase, killBackend, stopHost, stopPlugin, stopDatabase}

func (f *faults) count(k faultKind) {
	f.done.Add(1)
	f.kinds[slices.Index(faultKinds, k)].Add(1)
	if k == stopHost || k == stopPlugin || k == stopDatabase {
		f.stops.Add(1)
	}
}

// plan decides every fault by the seed; one in ten is a stop.
func plan(o options) []fault {
	d := newDice(o.seed, 1<<32)
	kills := []faultKind{killHost, killHost, killPlugin, killPlugin, killPlugin}
	stops := []faultKind{stopHost, stopPlugin}
	if o.driver == "postgres" {
		kills = append(kills, killDatabase, killBackend, killBackend)
		stops = append(stops, stopDatabase)
	}
	list := make([]fault, o.kills)
	for i := range list {
		list[i] = fault{kind: kills[d.IntN(len(kills))], host: d.IntN(2), pause: 0.1 + 1.8*d.Float64(),
			down: time.Duration(20+d.IntN(400)) * time.Millisecond}
	}
	for n := range max(min(1, o.kills), o.kills/10) {
		i := n*10 + d.IntN(min(10, o.kills-n*10))
		list[i].kind = stops[d.IntN(len(stops))]
		list[i].down = lease + time.Duration(200+d.IntN(1300))*time.Millisecond
	}
	return list
}

// inflict carries out the plan. Stopped processes go on by themselves meanwhile,
// so that faults overlap.
func (s *stage) inflict(ctx context.Context, plan []fault, mean time.Duration) error {
	for i, f := range plan {
		select {
		case <-time.After(time.Duration(f.pause * float64(mean))):
		case <-ctx.Done():
			return fmt.Errorf("ended after %d of %d faults: %w", i, len(plan), context.Cause(ctx))
		}
		kind, err := s.inflictOne(ctx, f)
		if err != nil {
			return fmt.Errorf("fault %d (%s): %w", i+1, f.kind, err)
		}
		s.faults.count(kind)
	}
	s.stopped.Wait()
	return nil
}

// inflictOne returns what was done. A host without a plugin process is killed, or
// stopped, in its place; a kill also ends the growing pauses between two starts of
// a plugin.
func (s *stage) inflictOne(ctx context.Context, f fault) (faultKind, error) {
	h := s.hosts[f.host]
	var plugin process
	if f.kind == killPlugin || f.kind == stopPlugin {
		var found bool
		if plugin, found = s.plugin(ctx, h); !found {
			f.kind = map[faultKind]faultKind{killPlugin: killHost, stopPlugin: stopHost}[f.kind]
		}
	}
	switch f.kind {
	case killHost:
		return f.kind, h.kill(f.down)
	case killPlugin:
		return f.kind, gone(syscall.Kill(plugin.pid, syscall.SIGKILL))
	case stopPlugin:
		s.pause(f.down, plugin)
	case stopHost:
		if err := h.signal(syscall.SIGSTOP); err != nil {
			return f.kind, gone(err)
		}
		s.stopped.Go(func() {
			time.Sleep(f.down)
			_ = h.signal(syscall.SIGCONT)
		})
	case killDatabase:
		if err := s.cluster.Kill(); err != nil {
			return f.kind, err
		}
		time.Sleep(f.down)
		return f.kind, s.cluster.Start(ctx)
	case killBackend:
		if backends := s.backends(); len(backends) > 0 {
			return f.kind, gone(syscall.Kill(backends[int(f.pause*1000)%len(backends)].pid, syscall.SIGKILL))
		}
	case stopDatabase:
		server, _ := processOf(s.cluster.Pid())
		s.pause(f.down, append(s.backends(), server)...)
	}
	return f.kind, nil
}

// pause stops processes and lets them go on later.
func (s *stage) pause(down time.Duration, processes ...process) {
	for _, p := range processes {
		_ = syscall.Kill(p.pid, syscall.SIGSTOP)
	}
	s.stopped.Go(func() {
		time.Sleep(down)
		for _, p := range processes {
			if now, found := processOf(p.pid); found && now.began == p.began {
				_ = syscall.Kill(p.pid, syscall.SIGCONT)
			}
		}
	})
}

// process is a process as the kernel tells it. An id is given away again; with
// the instant it began it names one process for good.
type process struct {
	pid, parent int
	began       string
}

func processOf(pid int) (p process, found bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, false
	}
	// The second word is a name in parentheses that may hold anything.
	words := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(words) < 20 {
		return p, false
	}
	parent, err := strconv.Atoi(words[1])
	return process{pid, parent, words[19]}, err == nil
}

// plugin is the plugin's process of a host, if it has one now.
func (s *stage) plugin(ctx context.Context, h *host) (process, bool) {
	p, found := processOf(h.pluginPID(ctx))
	command, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "cmdline"))
	return p, found && err == nil && strings.HasPrefix(string(command), filepath.Join(s.dir, "authz-plugin-"))
}

// backends are the children of the database server.
func (s *stage) backends() (children []process) {
	entries, _ := os.ReadDir("/proc")
	server := s.cluster.Pid()
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if p, found := processOf(pid); err == nil && found && p.parent == server {
			children = append(children, p)
		}
	}
	return children
}

// gone takes it for done that a process had ended before.
func gone(err error) error {
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
