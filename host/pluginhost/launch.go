package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/plugin"
)

// stopGrace is how long a plugin may take to close its driver, and then to exit.
const stopGrace = 2 * time.Second

// process is one life of a plugin: launched, described and configured.
type process struct {
	child       *child
	client      *goplugin.Client
	rpc         *plugin.Client
	description plugin.Description
	serves      plugin.Configured
	output      *tail
	release     context.CancelFunc // of the lifeline
	gone        chan struct{}      // closed when the process is reaped
	hung        atomic.Bool        // it was killed because it did not answer
	cleanUp     func()             // removes what it ran from
}

// launch runs the whole start of one process. A failure leaves no process.
func (p *Plugin) launch(ctx context.Context) (*process, error) {
	return p.launchTo(ctx, step{"Configure", func(ctx context.Context, proc *process) (err error) {
		proc.serves, err = proc.rpc.Configure(ctx, p.spec.settings(proc.description))
		return err
	}})
}

// step is one call of a start.
type step struct {
	name string
	call func(context.Context, *process) error
}

// launchTo starts a process and takes it through the last steps, which follow its
// description.
func (p *Plugin) launchTo(ctx context.Context, last ...step) (*process, error) {
	image, err := p.image()
	if err != nil {
		return nil, p.startError(err.Error(), nil, err)
	}
	defer image.started()
	proc := &process{child: newChild(p.prog, image.file, p.spec.Dir), output: &tail{}, gone: make(chan struct{}), cleanUp: func() { p.remove(image) }}
	proc.client = p.newClient(proc)
	// go-plugin takes no context and holds its lock while it connects, so that
	// patience is enforced from outside: on the process itself.
	handshake, done := context.WithTimeout(ctx, p.spec.StartTimeout)
	defer done()
	arrived := context.AfterFunc(handshake, proc.child.kill)
	protocol, err := proc.client.Client()
	if err == nil {
		proc.rpc, err = plugin.Dispense(protocol)
	}
	if !arrived() && err == nil {
		err = handshake.Err()
	}
	if err != nil {
		proc.destroy()
		return nil, p.handshakeError(ctx, handshake, proc, err)
	}
	lifeline, release := context.WithCancel(context.Background())
	proc.release = release
	if step, err := p.setUp(ctx, proc, lifeline, last); err != nil {
		proc.destroy()
		return nil, p.setUpError(ctx, proc, step, err)
	}
	return proc, nil
}

func (p *Plugin) newClient(proc *process) *goplugin.Client {
	log := p.host.log.Named(p.spec.Name)
	out := printed{log: log.Named("output"), keep: proc.output}
	return goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  plugin.Handshake,
		VersionedPlugins: plugin.ClientSets(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			env := make([]string, 0, len(p.spec.Env)+len(cmd.Env))
			for name, value := range p.spec.Env {
				env = append(env, name+"="+value)
			}
			return proc.child, proc.child.prepare(append(env, cmd.Env...))
		},
		SkipHostEnv:      true,
		AutoMTLS:         true,
		StartTimeout:     2 * p.spec.StartTimeout, // launch is stricter
		Logger:           log,
		Stderr:           proc.output,
		SyncStdout:       out,
		SyncStderr:       out,
		GRPCDialOptions:  plugin.DialOptions(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.host.sockets.dir},
	})
}

// setUp takes a started process through lifeline, Describe and the last steps, each
// within the start timeout, and says which of them failed.
func (p *Plugin) setUp(ctx context.Context, proc *process, lifeline context.Context, last []step) (failed string, err error) {
	limit := p.spec.StartTimeout
	bounded := func(step string, call func(context.Context) error) (string, error) {
		ctx, done := context.WithTimeout(ctx, limit)
		defer done()
		return step, call(ctx)
	}
	// The lifeline outlives this call, so that only its opening is bounded.
	if failed, err = bounded("the lifeline", func(ctx context.Context) error {
		giveUp := context.AfterFunc(ctx, proc.release)
		ended, err := proc.rpc.Lifeline(lifeline)
		if !giveUp() {
			err = ctx.Err()
		}
		if err == nil {
			go proc.watch(ended)
		}
		return err
	}); err != nil {
		return failed, err
	}
	if failed, err = bounded("Describe", func(ctx context.Context) (err error) {
		proc.description, err = proc.rpc.Describe(ctx)
		return err
	}); err != nil {
		return failed, err
	}
	if err := p.checkDescription(proc.description); err != nil {
		return "", err
	}
	for _, s := range last {
		if failed, err = bounded(s.name, func(ctx context.Context) error { return s.call(ctx, proc) }); err != nil {
			return failed, err
		}
	}
	return "", nil
}

// settings are the configured ones under the switches that the plugin declares.
func (s Spec) settings(d plugin.Description) map[string]any {
	config := maps.Clone(s.Config)
	for name, value := range s.Switches {
		if d.Declares(name, plugin.TypeBoolean) {
			if config == nil {
				config = map[string]any{}
			}
			config[name] = value
		}
	}
	return config
}

func (p *Plugin) checkDescription(d plugin.Description) error {
	if want := p.prog.name; want != "" && d.Name != want {
		return fmt.Errorf("it calls itself %s, its file %s%s", spell.Quote(d.Name), plugin.BinaryPrefix, want)
	}
	if !slices.ContainsFunc(plugin.Kinds(), d.Serves) {
		return fmt.Errorf("it serves none of the kinds that this host knows (%s)", strings.Join(plugin.Kinds(), ", "))
	}
	return nil
}

// watch ends a process that let go of its lifeline and reports its end.
func (proc *process) watch(lifelineEnded <-chan struct{}) {
	<-lifelineEnded
	select {
	case <-proc.child.exited:
	case <-time.After(stopGrace):
		proc.child.kill()
		<-proc.child.exited
	}
	close(proc.gone)
}

// destroy kills the process, if there is one, and waits for everything that
// belongs to it.
func (proc *process) destroy() {
	proc.child.kill()
	proc.client.Kill()
	if proc.release != nil {
		proc.release()
	}
	proc.cleanUp()
}

// stop lets the plugin close its driver and exit, then kills it; it returns when
// nothing is left. ctx only shortens the patience.
func (proc *process) stop(ctx context.Context) {
	closing, done := context.WithTimeout(ctx, stopGrace)
	_ = proc.rpc.Stop(closing) // the plugin has logged it, or is gone
	done()
	// Kill waits for an answer that a stopped process never gives.
	patience := time.AfterFunc(stopGrace, proc.child.kill)
	defer patience.Stop()
	defer context.AfterFunc(ctx, proc.child.kill)()
	proc.client.Kill()
	proc.release()
	<-proc.gone
	proc.cleanUp()
}

func (p *Plugin) startError(reason string, output []string, cause error) *StartError {
	return &StartError{Plugin: p.spec.Name, Path: p.prog.path, Reason: reason, LastOutput: output, Cause: cause}
}

// handshakeError says why no connection came about: from what the process did,
// since go-plugin's errors are texts.
func (p *Plugin) handshakeError(ctx, handshake context.Context, proc *process, err error) *StartError {
	output := proc.output.last()
	first := proc.child.stdout.firstLine()
	spoken, isHandshake := handshakeVersion(first)
	switch {
	case ctx.Err() != nil:
		return p.startError("the start was cancelled", output, ctx.Err())
	case proc.child.pid() == 0:
		return p.startError("it cannot be executed: "+err.Error(), output, err)
	case isHandshake && !slices.Contains(plugin.SpokenVersions(), spoken):
		return p.startError(fmt.Sprintf("it speaks plugin protocol version %d, this host speaks %s: %s", spoken, versionList(), whatToDo(spoken)), output, nil)
	case first != "" && !isHandshake:
		return p.startError("it wrote to its standard output before the handshake, which a plugin must never do: "+spell.Quote(first), output, nil)
	case proc.child.endedItself():
		return p.startError("it ended before it was ready ("+proc.child.state().String()+")", output, nil)
	case handshake.Err() != nil:
		return p.startError(fmt.Sprintf("it was not ready within %s", p.spec.StartTimeout), output, nil)
	}
	return p.startError(err.Error(), output, err)
}

func (p *Plugin) setUpError(ctx context.Context, proc *process, step string, err error) *StartError {
	output := proc.output.last()
	var typed interface{ ErrorCode() string }
	var config *plugin.ConfigError
	switch {
	case ctx.Err() != nil:
		return p.startError("the start was cancelled", output, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		return p.startError(fmt.Sprintf("it did not answer %s within %s", step, p.spec.StartTimeout), output, err)
	case errors.As(err, &config), errors.As(err, &typed):
		return p.startError(err.Error(), nil, err)
	case proc.child.endedItself():
		return p.startError(fmt.Sprintf("it ended during %s (%s)", step, proc.child.state()), output, err)
	case step == "":
		return p.startError(err.Error(), output, err)
	}
	return p.startError(step+" failed: "+err.Error(), output, err)
}

// handshakeVersion reads the protocol version from go-plugin's first line:
// core version | protocol version | network | address | …
func handshakeVersion(line string) (version int, ok bool) {
	parts := strings.Split(line, "|")
	if len(parts) < 4 {
		return 0, false
	}
	if _, err := strconv.Atoi(parts[0]); err != nil {
		return 0, false
	}
	version, err := strconv.Atoi(parts[1])
	return version, err == nil
}

// whatToDo about a plugin of another version.
func whatToDo(spoken int) string {
	if spoken < slices.Min(plugin.SpokenVersions()) {
		return "the plugin is older; use the one of this host's release, or rebuild it with github.com/authzhost/authz/sdk/plugin of that release"
	}
	return "the plugin is newer; use a host of its release, or the plugin of this host's"
}

func versionList() string {
	var list []string
	for _, v := range plugin.SpokenVersions() {
		list = append(list, strconv.Itoa(v))
	}
	return strings.Join(list, ", ")
}
