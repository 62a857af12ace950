package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/authzhost/authz/conformance/importer"
	"github.com/authzhost/authz/sdk/directory"
)

// importerBackend is where the importers of one case run.
type importerBackend struct{ *ground }

// importerConnection is an importer over a process.
type importerConnection struct {
	directory.Importer
	process *process
}

// What a case's backend offers depends on the command line.
type (
	relayedImporters struct {
		importerBackend
		*relay
	}
	changingImporters struct {
		importerBackend
		changer
	}
	bothImporters struct {
		importerBackend
		*relay
		changer
	}
)

// changer changes the directory by a command.
type changer struct{ of *ground }

// Change ends with ctx, whatever the shell has started.
func (c changer) Change(ctx context.Context) error {
	shell := exec.CommandContext(ctx, "sh", "-c", c.of.fill(c.of.change))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.WaitDelay = time.Second // for one that left the group with the output
	if out, err := shell.CombinedOutput(); err != nil {
		return fmt.Errorf("--change: %w\n%s", err, out)
	}
	return nil
}

// importers makes the backend of a case.
func (l *launcher) importers(context.Context) (importer.Backend, error) {
	g, err := l.ground()
	if err != nil {
		return nil, err
	}
	b := importerBackend{g}
	switch {
	case g.relay != nil && l.change != "":
		return bothImporters{b, g.relay, changer{g}}, nil
	case g.relay != nil:
		return relayedImporters{b, g.relay}, nil
	case l.change != "":
		return changingImporters{b, changer{g}}, nil
	}
	return b, nil
}

func (b importerBackend) Connect(ctx context.Context) (directory.Importer, error) {
	return b.serve(ctx, b.config)
}

// Configure ends the processes before: they may hold what a configuration names.
func (b importerBackend) Configure(ctx context.Context, config map[string]any) (directory.Importer, error) {
	b.endAll()
	return b.serve(ctx, config)
}

func (b importerBackend) serve(ctx context.Context, config map[string]any) (directory.Importer, error) {
	p, err := b.launch(ctx, config)
	if err != nil {
		return nil, err
	}
	i, err := p.plugin.Importer()
	if err != nil {
		p.end()
		return nil, err
	}
	return &importerConnection{i, p}, nil
}

func (importerBackend) Kill(i directory.Importer) error     { return signalTo(i, syscall.SIGKILL) }
func (importerBackend) Stop(i directory.Importer) error     { return signalTo(i, syscall.SIGSTOP) }
func (importerBackend) Continue(i directory.Importer) error { return signalTo(i, syscall.SIGCONT) }
