// Command authz-verify checks an application's source against its catalog without
// running it. It reads files and directories, asks git for --changed-since and the go
// command about Go packages; it writes what codegen, init and --cache name, and never uses the network.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/internal/terminal"
)

var version = "dev"

// The exit statuses.
const (
	exitClean  = 0 // no issue of error severity
	exitIssues = 1
	exitFailed = 2 // the run could not be made
)

// What lives during a scan is small beside what is made and dropped: collecting only
// when the limit is near saves a fifth of the time.
const (
	gcPercent   = 2000
	memoryLimit = 160 << 20
)

func main() {
	notices.Asked()
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" { // one without the other makes no sense
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return terminal.Run(stdout, stderr, exitFailed, func(stdout, stderr io.Writer) int { return execute(ctx, args, stdout, stderr) })
}

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "codegen":
			if raw, ok := terminal.File(stdout); ok && !isTerminal(stdout) {
				stdout = raw // generated source goes into a file byte for byte
			}
			return runCodegen(args[1:], stdout, stderr)
		case "init":
			return runInit(ctx, args[1:], stdout, stderr)
		}
	}
	return runVerify(ctx, args, stdout, stderr)
}

func printVersion(stdout, stderr io.Writer) int {
	_, err := fmt.Fprintf(stdout, "authz-verify %s\n", version)
	return statusOf(stderr, verifyName, err)
}

// fail says why a run could not be made.
func fail(stderr io.Writer, name string, err error) int {
	fmt.Fprintf(stderr, "%s: %s\n", name, reason(err))
	return exitFailed
}
