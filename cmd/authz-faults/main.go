//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	driver  string
	kills   int
	seed    uint64
	writers int
	within  time.Duration
	dir     string
	keep    bool
}

const usage = `authz-faults: random writers over two hosts and one database, while hosts, plugins and the database are killed and stopped

Over PostgreSQL the primary also fails over to its standby, comes back as it was beside the new one, and hangs. Leases are left
by a clock that ran ahead, and crowds write. Meanwhile grants are taken away, and how long they are still honoured is measured.

  authz-faults                               200 faults over PostgreSQL, bounded to ten minutes
  authz-faults --kills 12                    the short form, about a minute
  authz-faults --kills 500 --within 40m      at length
  authz-faults --driver sqlite --kills 12    two hosts over one SQLite file
  authz-faults --seed 42                     the plan and the writes of an earlier run

Exit codes: 0 every invariant held, 1 one broke, 2 usage, 3 the processes could not be started.

`

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "authz-faults:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, o, os.Stdout))
}

func parse(args []string, out io.Writer) (options, error) {
	o := options{seed: rand.Uint64() >> 12}
	f := flag.NewFlagSet("authz-faults", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.driver, "driver", "postgres", "`postgres` or sqlite")
	f.IntVar(&o.kills, "kills", 200, "how many faults: mostly a process killed; one in ten stopped for longer than the lease, one in ten a failover, a split, a clock ahead or an overload")
	f.Uint64Var(&o.seed, "seed", o.seed, "decides the plan and what is written; printed at the start")
	f.IntVar(&o.writers, "writers", 4, "writers for each host")
	f.DurationVar(&o.within, "within", 10*time.Minute, "bounds the whole run; faults that find no time in it are a failure")
	f.StringVar(&o.dir, "dir", "", "empty folder for binaries, logs and data (default a temporary one)")
	f.BoolVar(&o.keep, "keep", false, "keep the folder also when every invariant held")
	f.Usage = func() {
		fmt.Fprint(out, usage)
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.driver != "postgres" && o.driver != "sqlite":
		return o, fmt.Errorf("--driver is postgres or sqlite, not %q", o.driver)
	case o.kills < 0 || o.writers < 1 || o.within < 2*time.Minute:
		return o, errors.New("--kills must not be negative, --writers at least 1, --within at least 2m")
	case o.dir != "":
		err := o.own()
		return o, err
	}
	return o, nil
}

// own makes the folder's path absolute, for hosts and builds have folders of their
// own, and refuses one that holds anything: hosts would go on in an earlier run's rows.
func (o *options) own() (err error) {
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	entries, err := os.ReadDir(o.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("--dir: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("--dir %s is not empty: name a new folder", o.dir)
	}
	return nil
}

// run is the whole of it: set up, fault, verify, report.
func run(ctx context.Context, o options, out io.Writer) int {
	started := time.Now()
	fmt.Fprintf(out, "authz-faults: driver %s, %d faults, seed %d\n", o.driver, o.kills, o.seed)
	s, err := newStage(ctx, o)
	if err != nil {
		fmt.Fprintln(out, "authz-faults: cannot start:", err)
		return 3
	}
	r := &report{out: out, options: o}
	err = s.torment(ctx, r, started)
	if err == nil {
		err = s.verify(ctx, r)
	}
	if err != nil {
		r.broken(lively, "%v", err)
	}
	code := r.conclude(s, time.Since(started))
	if closing := s.close(code == 0 && !o.keep); closing != nil {
		fmt.Fprintln(out, "authz-faults: cleaning up:", closing)
	}
	return code
}

// torment writes while the plan is inflicted, and ends with both hosts up.
func (s *stage) torment(ctx context.Context, r *report, started time.Time) error {
	if err := s.populate(ctx); err != nil {
		return fmt.Errorf("the first rows: %w", err)
	}
	writing, stopWriting := context.WithCancel(ctx)
	defer stopWriting()
	written := s.write(writing, r)
	shown := r.progress(writing, s)
	bounded, cancel := context.WithDeadlineCause(ctx, started.Add(s.options.within-verification), errTime)
	defer cancel()
	err := s.inflict(bounded, plan(s.options), s.options.pace(time.Since(started)))
	stopWriting()
	<-written
	<-shown
	if err != nil {
		return err
	}
	for _, h := range s.hosts {
		if err := h.ready(ctx, recovery); err != nil {
			return err
		}
	}
	return s.writable(ctx)
}

// verification is how much of the run is kept for it.
const verification = 90 * time.Second

var errTime = errors.New("the time is over")

// pace is the mean pause between two faults.
func (o options) pace(spent time.Duration) time.Duration {
	const short, mean, inflicting = time.Second, 1500 * time.Millisecond, 700 * time.Millisecond
	if o.kills <= 20 {
		return short
	}
	return max(100*time.Millisecond, min(mean, (o.within-spent-verification)/time.Duration(o.kills)-inflicting))
}
