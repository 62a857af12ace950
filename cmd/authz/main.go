// Command authz runs an authorization host and talks to running ones. It wires
// the packages of the project together and decides nothing itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/terminal"
	"github.com/authzhost/authz/sdk/plugin"
)

// version is set by the build.
var version = "dev"

// The exit codes of the command.
const (
	exitFailure = 1 // something failed while running
	exitUsage   = 2 // the configuration or the command line is wrong
	exitPlugin  = 3 // a plugin could not be started
	exitDenied  = 4 // --exit-code: the answer is no, or something was found
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	safeOut, safeErrs := terminal.New(out), terminal.New(errs)
	for file, w := range map[io.Writer]*terminal.Writer{out: safeOut, errs: safeErrs} {
		if onTerminal(file) && os.Getenv("NO_COLOR") == "" {
			w.AllowStyles()
		}
	}
	waits := newWaiting(errs, in, args)
	safeOut.Before(waits.end)
	safeErrs.Before(waits.end)
	code := execute(ctx, args, in, safeOut, safeErrs)
	waits.end()
	if err := errors.Join(safeOut.Flush(), safeErrs.Flush()); err != nil && code == 0 {
		return exitFailure
	}
	return code
}

func execute(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errDenied) {
		fmt.Fprintln(errs, "authz: "+said(err))
		if advice := hint(err); advice != "" {
			fmt.Fprintln(errs, advice)
		}
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var (
		usage   usageError
		asked   *hostedclient.UsageError
		file    *input.Error
		bad     *config.Error
		catalog *host.CatalogFileError
		setting *plugin.ConfigError
		start   *pluginhost.StartError
	)
	switch {
	case errors.Is(err, errDenied):
		return exitDenied
	case errors.As(err, &usage), errors.As(err, &asked), errors.As(err, &file), errors.As(err, &bad), errors.As(err, &catalog), errors.As(err, &setting):
		return exitUsage
	case errors.As(err, &start):
		return exitPlugin
	}
	return exitFailure
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "authz",
		Short: "Run an authorization host, and ask one",
		Long: `authz decides whether a subject may perform an action at a scope, in memory, and
explains every answer. The host keeps its rows in a storage driver that runs as a
process of its own.

Try it:
  authz quickstart     start a host with a sample in it, then in another terminal:
  authz check --user u_17 docs.files.update_file docs.doc:d_1
  authz explain --user u_17 docs.files.update_file docs.doc:d_1

Commands that talk to a host use the local administration socket of a host on this
machine when they find one, else --url and --token-file. With --org they ask a host's
hosted API about a whole org, with the key of 'authz login'; application, billing, key,
org, seat and whoami are served there only.

Exit codes: 0 done, 1 failed while running, 2 wrong configuration or usage,
3 a plugin could not be started, 4 the answer is no, or something was found (--exit-code).`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          showHelp,
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(newServe(), newQuickstart(), newConfig(), newPlugin(), newStorage(), newMesh(), newService(), newDirectory(),
		newCheck(), newExplain(), newWhoCan(), newWhatCan(), newWhereCan(), newApply(), newGrant(), newRevoke(), newRole(), newGroup(), newUser(), newScope(),
		newRequest(), newCatalog(), newAudit(), newReconcile(), newSoD(), newEntitlements(), newDrift(),
		newContext(), newLogin(), newLogout(), newWhoami(), newOrg(), newSeat(), newKey(), newLinked(), newBilling(), newRegistry(), newRetention(),
		newVersion(), newPluginServe())
	takeContexts(root)
	asUsage(root)
	strictHelp(root)
	return root
}
