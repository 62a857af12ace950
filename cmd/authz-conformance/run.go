package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/conformance/sink"
	"github.com/authzhost/authz/host/pluginhost"
)

// runFlags is the command line of a run.
type runFlags struct {
	plugin       string
	config       string
	env          []string
	partition    string
	target       string
	countsURL    string
	countsMetric string
	patience     time.Duration
	change       string
	selection    selection
	output       string
	parallel     int
	timeout      time.Duration
	roundsWithin time.Duration
	verbose      bool
}

func newRun() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run PLUGIN",
		Short: "Run the cases over a plugin's binary",
		Long: `run starts the binary of a plugin the way a host does, asks it which kinds it serves
and runs the cases of each over it. Where a case needs two processes it starts two
with the same configuration; where a case says so it kills or stops them.

--config is a file of YAML or JSON, or the text itself: the plugin's settings. In
its values {dir} stands for a fresh temporary directory of the case, {case} for a
short unique name of lowercase letters and digits, {port} for a free port of the
loopback address, and {target} for the address of a relay to --target, which cases
cut or keep from answering.

Storage: with {dir} or {case} each case has a fresh database. Without, all cases share
the one configured and use partitions of unique names, which they leave behind.

Metrics sinks: --counts-url is read for what the target system counted; the sink itself
may be what serves it. Without it the cases about counts are skipped.

Directory importers: the directory must not change by itself during the run; --change
is a shell command that changes it.

A storage plugin that has a setting "lease" (a duration) is given a short one by the cases
about leases; with another plugin these cases take as long as its own lease makes
them.

The plugin sees nothing of this command's environment but what --env names.`,
		Example: `  authz-conformance run ./bin/authz-plugin-memory
  authz-conformance run ./authz-plugin-sqlite --config '{path: "{dir}/authz.db"}'
  authz-conformance run ./authz-plugin-acme --config acme.yaml --partition ci --suite isolation
  authz-conformance run ./authz-plugin-acme --config acme.yaml --env ACME_PASSWORD --case B61,B79
  authz-conformance run ./authz-plugin-acme --config acme.yaml --output junit > conformance.xml
  authz-conformance run ./authz-plugin-prometheus --config '{listen: "127.0.0.1:{port}", state_dir: "{dir}/s"}' \
      --counts-url 'http://127.0.0.1:{port}/metrics'
  authz-conformance run ./authz-plugin-ldap --config ldap.yaml --target ldap.example:389`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.plugin = args[0]
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVarP(&f.config, "config", "c", "", "the plugin's settings: a file of YAML or JSON, or the text itself")
	c.Flags().StringArrayVar(&f.env, "env", nil, "NAME or NAME=VALUE that the plugin sees in its environment; repeatable")
	c.Flags().StringVar(&f.partition, "partition", "", "begin the names of all partitions with this, and leave \"\" alone")
	c.Flags().StringVar(&f.target, "target", "", "host:port of the target system or directory: {target} in the configuration is a relay to it")
	c.Flags().StringVar(&f.countsURL, "counts-url", "", "a Prometheus text endpoint that tells what a sink's target system counted; {port} and {case} as in --config")
	c.Flags().StringVar(&f.countsMetric, "counts-metric", defaultMetric, "the counter there, with labels application, permission and decision")
	c.Flags().DurationVar(&f.patience, "counts-within", sink.DefaultPatience, "how long counts may take to arrive there")
	c.Flags().StringVar(&f.change, "change", "", "a shell command that changes an importer's directory")
	f.selection.flags(c)
	c.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or junit")
	c.Flags().IntVar(&f.parallel, "parallel", min(4, runtime.NumCPU()), "how many cases run at once")
	c.Flags().DurationVar(&f.timeout, "timeout", runner.DefaultTimeout, "how long a case may take")
	c.Flags().DurationVar(&f.roundsWithin, "rounds-within", 0, "for how long a case may repeat what happens at random moments, such as a kill (default a third of --timeout)")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "show what the plugin logs")
	complete(c, "output", "text", "json", "junit")
	return c
}

func (f *runFlags) run(ctx context.Context, out, errs io.Writer) error {
	selected, _, err := f.selection.of()
	if err != nil {
		return err
	}
	selected.Parallel = f.parallel
	if err := f.check(); err != nil {
		return err
	}
	l, err := f.launcher(errs)
	if err != nil {
		return err
	}
	defer os.RemoveAll(l.root)
	found, err := l.find(ctx, f)
	if err != nil && ctx.Err() != nil {
		return errEnded
	}
	if err != nil {
		return err
	}
	cases, err := selected.Of(found.plan.Cases())
	if err != nil {
		return usageError{fmt.Errorf("%w; the plugin serves %s", err, strings.Join(found.served, ", "))}
	}
	shown := newProgress(errs, cases)
	shown.begin(found)
	report := found.plan.Check(ctx, selected, shown.tell)
	shown.end()
	document := f.report(found, report)
	switch f.output {
	case "json":
		err = document.writeJSON(out)
	case "junit":
		err = document.writeJUnit(out)
	default:
		err = document.writeText(out)
	}
	if err != nil {
		return err
	}
	if !document.Passed {
		return errFailed
	}
	return nil
}

// check refuses flags that cannot be carried out.
func (f *runFlags) check() error {
	switch {
	case f.output != "text" && f.output != "json" && f.output != "junit":
		return usageError{fmt.Errorf("--output is text, json or junit, not %q", f.output)}
	case f.parallel < 1:
		return usageError{errors.New("--parallel is at least 1")}
	case f.timeout <= 0:
		return usageError{errors.New("--timeout must be more than nothing")}
	case f.roundsWithin < 0:
		return usageError{errors.New("--rounds-within must not be negative")}
	case f.patience <= 0:
		return usageError{errors.New("--counts-within must be more than nothing")}
	case len(f.partition) > 20 || strings.Trim(f.partition, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "":
		return usageError{errors.New("--partition is at most 20 of A-Z, a-z, 0-9, - and _")}
	}
	if _, _, err := net.SplitHostPort(f.target); f.target != "" && err != nil {
		return usageError{errors.New("--target is host:port")}
	}
	return nil
}

// notStarted makes every failure of the probe one that says what could not be
// done: the plugin did not get as far as a first row.
func notStarted(err error) error {
	var start *pluginhost.StartError
	if errors.As(err, &start) {
		return err
	}
	return &pluginhost.StartError{Plugin: "plugin", Reason: err.Error(), Cause: err}
}

func (f *runFlags) launcher(errs io.Writer) (*launcher, error) {
	path := f.plugin
	if !strings.ContainsRune(path, filepath.Separator) {
		path = "." + string(filepath.Separator) + path
	}
	if _, err := os.Stat(path); err != nil {
		return nil, usageError{fmt.Errorf("there is no plugin %s: give the path of its binary", f.plugin)}
	}
	s, err := parseSettings(f.config)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for _, one := range f.env {
		name, value, given := strings.Cut(one, "=")
		if !given {
			if value, given = os.LookupEnv(name); !given {
				return nil, usageError{fmt.Errorf("--env %s: it is not set here", name)}
			}
		}
		env[name] = value
	}
	if s.holds(placeTarget) != (f.target != "") {
		return nil, usageError{errors.New("--target and {target} in the configuration go together")}
	}
	root, err := newRootDir()
	if err != nil {
		return nil, err
	}
	l := &launcher{path: path, settings: s, env: env, root: root, run: runName(), target: f.target, change: f.change, counts: counts{f.countsURL, f.countsMetric}}
	if f.verbose {
		l.tee = &shared{w: errs}
	}
	return l, nil
}

// shared lets several goroutines write.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// runName is short, lowercase, and other than that of any run close by.
func runName() string {
	return strings.ToLower(fmt.Sprintf("%x", uint32(time.Now().UnixMilli())^uint32(os.Getpid())<<20))
}
