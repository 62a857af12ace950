package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

type options struct {
	root        string
	authz       string
	bare        bool
	overload    bool
	connections int
	rounds      int
	span        time.Duration
	profile     string
}

func main() {
	if atOnce := os.Getenv(slowVariable); atOnce != "" {
		serveSlow(atOnce) // ends the process
	}
	var o options
	flag.StringVar(&o.root, "root", "../..", "the repository")
	flag.StringVar(&o.authz, "authz", "", "a built authz; else it is built")
	flag.BoolVar(&o.bare, "bare", false, "be the bare server, which the command starts itself")
	flag.BoolVar(&o.overload, "overload", false, "measure ten times the writes that a host can do instead; --span is then the length of the load, 10s unless given")
	flag.IntVar(&o.connections, "connections", 32, "keep-alive connections that ask at once")
	flag.IntVar(&o.rounds, "rounds", 40, "turns that each server gets")
	flag.DurationVar(&o.span, "span", 300*time.Millisecond, "length of a turn")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a profile of the host, while single checks are measured, to a file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := measure
	switch {
	case o.bare:
		run = serveBare
	case o.overload:
		run = measureOverload
		given := false
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == "span" })
		if !given {
			o.span = 10 * time.Second
		}
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/http:", err)
		os.Exit(1)
	}
}

// The aims of a warm check over HTTP.
const (
	aimShare  = 0.80    // of bare requests a second
	aimP99    = 2.0     // times bare's
	aimAllocs = 25      // above bare
	aimBatch  = 300_000 // checks a second
	aimRSS    = 60      // MiB of an idle host
)

func measure(ctx context.Context, o options) (err error) {
	if o.connections < 1 || o.rounds < 1 || o.span < 100*time.Millisecond {
		return errors.New("--connections and --rounds must be at least 1, --span 100ms")
	}
	s, err := stage(ctx, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	idle, plugins, err := s.memory(ctx)
	if err != nil {
		return err
	}
	bare, host, batch, share, err := s.turns(ctx, o)
	if err != nil {
		return err
	}
	bareAllocs, hostAllocs, err := allocations(ctx, o.root)
	if err != nil {
		return err
	}
	fmt.Printf("%s/%s, %d cores, %s; %d connections, %d turns of %s each, by turns; medians\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), o.connections, o.rounds, o.span)
	fmt.Printf("| | bare net/http | host | | aim |\n| --- | ---: | ---: | ---: | --- |\n")
	fmt.Printf("| checks, one a request | %.0f/s | %.0f/s | %.0f %% (half of the turns %.0f to %.0f %%) | >= %.0f %% |\n",
		bare.rate, host.rate, 100*share[1], 100*share[0], 100*share[2], 100*aimShare)
	fmt.Printf("| median latency | %s | %s | %.2fx | |\n", round(bare.p50), round(host.p50), ratio(host.p50, bare.p50))
	fmt.Printf("| p99 latency | %s | %s | %.2fx | <= %.0fx |\n", round(bare.p99), round(host.p99), ratio(host.p99, bare.p99), aimP99)
	fmt.Printf("| allocations a request, handler alone | %d | %d | %+d | <= +%d |\n", bareAllocs, hostAllocs, hostAllocs-bareAllocs, aimAllocs)
	fmt.Printf("| checks, 1000 a request | | %.0f/s | | >= %d/s |\n", batch.rate*1000, aimBatch)
	fmt.Printf("| memory of the idle host (its plugin: %d MiB) | | %d MiB | | <= %d MiB |\n", plugins>>20, idle>>20, aimRSS)
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
