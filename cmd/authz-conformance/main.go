// Command authz-conformance proves that a plugin keeps the contracts of the kinds
// that it serves: it starts the plugin's binary the way a host does, runs the cases
// of the conformance packages over it, kills and stops its processes where a case
// says so, and reports. It knows no plugin and decides nothing itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/internal/terminal"
	"github.com/authzhost/authz/sdk/plugin"
)

// version is set by the build.
var version = "dev"

// The exit codes of the command.
const (
	exitFailed = 1 // a case failed, or the run was ended before all had run
	exitUsage  = 2 // the command line or the plugin's configuration is wrong
	exitPlugin = 3 // the plugin could not be started
)

func main() {
	notices.Asked()
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	// A write that nobody reads is an error like others, and what was started is ended. Were
	// the signal ignored instead, plugins would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	return terminal.Run(out, errs, exitFailed, func(out, errs io.Writer) int { return execute(ctx, args, out, errs) })
}

func execute(ctx context.Context, args []string, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errFailed) {
		fmt.Fprintln(errs, "authz-conformance: "+err.Error())
	}
	return exitCode(err)
}

// errFailed is a run that was reported and in which not every case passed.
var errFailed = errors.New("not every case passed")

// errEnded is a run that was ended while the plugin was starting.
var errEnded = errors.New("the run was ended before its first case")

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ error }

func exitCode(err error) int {
	var (
		usage   usageError
		setting *plugin.ConfigError
		start   *pluginhost.StartError
	)
	switch {
	case errors.As(err, &usage), errors.As(err, &setting):
		return exitUsage
	case errors.As(err, &start):
		return exitPlugin
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "authz-conformance",
		Short: "Prove that a plugin keeps the contract of its kind",
		Long: `authz-conformance starts the binary of a plugin as a host would, runs the cases of
the contract of each kind that it serves (storage, metrics_sink, directory_importer)
and says of each failure which rule was broken, what was done, what was expected and
what came.

Try it:
  authz-conformance list
  authz-conformance run ./bin/authz-plugin-memory
  authz-conformance run ./bin/authz-plugin-sqlite --config '{path: "{dir}/authz.db"}'
  authz-conformance run ./bin/authz-plugin-memory --case B61

Exit codes: 0 all cases passed, or were skipped with a reason; 1 a case failed,
or the run was ended; 2 wrong usage or configuration; 3 the plugin could not be started.
'authz-conformance --notices' prints the notices of the modules that it is made of.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Args:          cobra.NoArgs,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w\nRun '%s --help' for what it takes", err, c.CommandPath())}
	})
	root.AddCommand(newRun(), newList(), newTable())
	for _, c := range append(root.Commands(), root) {
		args := c.Args
		c.Args = func(c *cobra.Command, given []string) error {
			if err := args(c, given); err != nil {
				return usageError{fmt.Errorf("%w\nRun '%s --help' for what it takes", err, c.CommandPath())}
			}
			return nil
		}
	}
	return root
}
