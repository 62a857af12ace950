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
	"sync"
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
	hangDatabase faultKind = "database hangs"
	failOver     faultKind = "failover"
	split        faultKind = "old primary comes back"
	clockAhead   faultKind = "lease of a clock ahead"
	overload     faultKind = "overload"
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
	kinds [11]atomic.Int64

	mu   sync.Mutex
	past []episode
}

var faultKinds = []faultKind{killHost, killPlugin, killDatabase, killBackend, stopHost, stopPlugin, hangDatabase, failOver, split, clockAhead, overload}

func (f *faults) count(k faultKind) {
	f.done.Add(1)
	f.kinds[slices.Index(faultKinds, k)].Add(1)
	if k == stopHost || k == stopPlugin || k == hangDatabase {
		f.stops.Add(1)
	}
}

// plan decides every fault by the seed; one in ten is a stop, and one in ten something
// rarer than the end of a process.
func plan(o options) []fault {
	d := newDice(o.seed, 1<<32)
	kills := []faultKind{killHost, killHost, killPlugin, killPlugin, killPlugin}
	rare := []faultKind{clockAhead, overload}
	stops := []faultKind{stopHost, stopPlugin}
	if o.driver == "postgres" {
		rare = append(rare, failOver, split)
		kills = append(kills, killDatabase, killBackend, killBackend)
		stops = append(stops, hangDatabase)
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
	// All of the rare kinds come, also in a short run.
	for n := range min(max(len(rare), o.kills/10), o.kills) {
		i := (n*10 + o.kills/2) % o.kills
		for tries := 0; tries < o.kills && (list[i].down > lease || slices.Contains(rare, list[i].kind)); tries++ {
			i = (i + 1) % o.kills // a stop stays one
		}
		if list[i].down <= lease {
			list[i].kind = rare[n%len(rare)]
		}
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
		began := time.Now()
		kind, hit, err := s.inflictOne(ctx, f)
		s.faults.happened(kind, began, f.down)
		if !hit && err == nil {
			f.kind = killHost
			kind, hit, err = s.inflictOne(ctx, f)
		}
		if err != nil {
			return fmt.Errorf("fault %d (%s): %w", i+1, f.kind, err)
		}
		if hit {
			s.faults.count(kind)
		}
	}
	s.stopped.Wait()
	return nil
}

// inflictOne returns what was done, and whether a process was there to do it to. A
// host without a plugin process is killed, or stopped, in its place; a kill also
// ends the growing pauses between two starts of a plugin.
func (s *stage) inflictOne(ctx context.Context, f fault) (kind faultKind, hit bool, err error) {
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
		hit, err = h.kill(f.down)
	case killPlugin:
		hit, err = reached(syscall.Kill(plugin.pid, syscall.SIGKILL))
	case stopPlugin:
		hit = s.pause(f.down, plugin)
	case stopHost:
		if hit, err = reached(h.signal(syscall.SIGSTOP)); hit {
			s.stopped.Go(func() {
				time.Sleep(f.down)
				_ = h.signal(syscall.SIGCONT)
			})
		}
	case killDatabase:
		hit = s.cluster.Pid() != 0
		if err = s.cluster.Kill(); err == nil {
			time.Sleep(f.down)
			err = s.cluster.Start(ctx)
		}
	case killBackend:
		if _, backends := s.database(); len(backends) > 0 {
			hit, err = reached(syscall.Kill(backends[int(f.pause*1000)%len(backends)].pid, syscall.SIGKILL))
		}
	case failOver:
		hit, err = true, s.failOver(ctx, 0)
	case split:
		hit, err = true, s.failOver(ctx, 2*time.Second+f.down)
	case clockAhead:
		hit, err = true, s.clockAhead(ctx)
	case overload:
		hit, err = true, s.overload(ctx, f)
	case hangDatabase:
		server, backends := s.database()
		hit = s.pause(f.down, append(backends, server...)...)
	}
	return f.kind, hit, err
}

// pause stops processes, lets them go on later, and returns whether one was there.
func (s *stage) pause(down time.Duration, processes ...process) (hit bool) {
	for _, p := range processes {
		hit = syscall.Kill(p.pid, syscall.SIGSTOP) == nil || hit
	}
	if !hit {
		return false
	}
	s.stopped.Go(func() {
		time.Sleep(down)
		for _, p := range processes {
			if now, found := processOf(p.pid); found && now.began == p.began {
				_ = syscall.Kill(p.pid, syscall.SIGCONT)
			}
		}
	})
	return true
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
	return p, found && strings.HasPrefix(p.command(), filepath.Join(s.dir, "authz-plugin-"))
}

// command is the command line, "" of a process that has ended.
func (p process) command() string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "cmdline"))
	return string(text)
}

// database is the server, if it runs, and those of its children that may be killed:
// it recovers from the death of any but of the startup process, with which it ends
// for good. A child that has not yet named itself may be that one.
func (s *stage) database() (server, backends []process) {
	p, found := processOf(s.cluster.Pid())
	if !found {
		return nil, nil
	}
	server = []process{p}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p, found := processOf(pid)
		if !found || p.parent != server[0].pid {
			continue
		}
		if name, named := strings.CutPrefix(p.command(), "postgres: "); named && !strings.HasPrefix(name, "startup") {
			backends = append(backends, p)
		}
	}
	return server, backends
}

// reached takes it for a miss, and no error, that a process had ended before.
func reached(signal error) (hit bool, err error) {
	if errors.Is(signal, syscall.ESRCH) || errors.Is(signal, os.ErrProcessDone) {
		return false, nil
	}
	return signal == nil, signal
}
