package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/authz"
)

// configFlags say where the configuration comes from.
type configFlags struct {
	path     string
	listen   string
	logLevel string
}

func (f *configFlags) addConfig(c *cobra.Command, path string) {
	c.Flags().StringVarP(&f.path, "config", "c", cmp.Or(path, os.Getenv("AUTHZ_CONFIG")), "the configuration file (YAML; default: $AUTHZ_CONFIG)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

func (f *configFlags) add(c *cobra.Command, path string) {
	f.addConfig(c, path)
	c.Flags().StringVar(&f.listen, "listen", "", "override listen, such as 127.0.0.1:8080")
	c.Flags().StringVar(&f.logLevel, "log-level", "", "override log.level: trace, debug, info, warn or error")
	_ = c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(
		[]string{"trace", "debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *configFlags) load(overrides map[string]any) (*config.Config, error) {
	source := config.Source{Path: f.path, Environ: os.Environ(), Overrides: map[string]any{}}
	for key, value := range overrides {
		source.Overrides[key] = value
	}
	if f.listen != "" {
		source.Overrides["listen"] = f.listen
	}
	if f.logLevel != "" {
		source.Overrides["log.level"] = f.logLevel
	}
	return config.Load(source)
}

func newServe() *cobra.Command {
	f := &configFlags{}
	c := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Run a host",
		Long: `Run a host until SIGTERM or SIGINT: it stops accepting, lets requests end, and stops its
plugins; a second signal ends it at once. SIGHUP takes over changed secrets, TLS files, the
log level and what was added to catalogs ('authz catalog reload'). What a configuration may hold: docs/configuration.md.`,
		Example: `  authz serve --config host.yaml
  authz config check --config host.yaml && authz serve --config host.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			load := func() (*config.Config, error) { return f.load(nil) }
			return runHost(c.Context(), load, c.ErrOrStderr(), nil)
		},
	}
	f.add(c, "")
	needs(c, "config")
	return c
}

// errHurried ends a stop that a second signal cut short.
var errHurried = errors.New("stopped at once by a second signal")

// runHost runs a host until a signal ends it. started, if any, runs beside it
// once it is up; its failure ends the host.
func runHost(ctx context.Context, load func() (*config.Config, error), logs io.Writer, started func(context.Context, *host.Host, *config.Config) error) error {
	cfg, err := load()
	if err != nil {
		return err
	}
	logs = &lockedWriter{to: logs} // of the logger and the access log
	log := hclog.New(&hclog.LoggerOptions{
		Name: "authz", Level: hclog.LevelFromString(cfg.Log.Level), JSONFormat: cfg.Log.Format == "json", Output: logs,
	})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hurry := make(chan struct{})
	reload := make(chan struct{}, 1)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for stopping := false; ; {
			var s os.Signal
			select {
			case <-ended:
				return
			case s = <-signals:
			}
			switch {
			case s == syscall.SIGHUP:
				select {
				case reload <- struct{}{}:
				default: // one is due already
				}
			case stopping:
				close(hurry)
				return
			default:
				stopping = true
				log.Info("stopping", "signal", s.String())
				cancel()
			}
		}
	}()
	plugins, err := embedded()
	if err != nil {
		return err
	}
	h, err := openHost(ctx, cfg, host.Options{Version: version, Embedded: plugins, Logger: log, AccessLog: logs}, hurry)
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, errHurried):
		log.Info("stopped before it was ready", "error", err)
		return nil
	case err != nil:
		return err
	}
	work := make(chan error, 1)
	if started != nil {
		go func() { work <- started(ctx, h, cfg) }()
	}
	for running := true; running; {
		select {
		case <-ctx.Done():
			running = false
		case err = <-h.Failures():
			running = false
		case err = <-work:
			running = err == nil
			work = nil
		case <-reload:
			reloadHost(ctx, h, load, log)
		}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // the work was cut short by the stop
	}
	return errors.Join(err, stopHost(h, cfg, hurry))
}

// openHost is host.Open that a second signal ends at once: what it had started is
// otherwise taken down in order first.
func openHost(ctx context.Context, cfg *config.Config, o host.Options, hurry <-chan struct{}) (*host.Host, error) {
	var h *host.Host
	opened := make(chan error, 1)
	go func() {
		var err error
		h, err = host.Open(ctx, cfg, o)
		opened <- err
	}()
	select {
	case err := <-opened:
		return h, err
	case <-hurry:
		return nil, errHurried
	}
}

// pluginPatience is for stores and plugins, after the requests have ended.
const pluginPatience = 10 * time.Second

func stopHost(h *host.Host, cfg *config.Config, hurry <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.DrainDelay+cfg.ShutdownTimeout+pluginPatience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- h.Close(ctx) }()
	select {
	case err := <-done:
		return err
	case <-hurry:
		return errHurried
	}
}

func reloadHost(ctx context.Context, h *host.Host, load func() (*config.Config, error), log hclog.Logger) {
	next, err := load()
	if err != nil {
		h.ReloadRefused(err)
		return
	}
	restart := h.Reload(next)
	log.Info("reloaded secrets, TLS files and log level")
	h.ReloadCatalogs(ctx, authz.Provenance{Kind: authz.ProvenanceSystem, Note: "SIGHUP"}) // which logs what became of each
	if len(restart) > 0 {
		log.Warn("these changes need a restart", "keys", fmt.Sprint(restart))
	}
}
