// Command faulty is a plugin that misbehaves in the way that its environment
// names.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
	"github.com/authzhost/authz/sdk/storage"
)

// mark is what tests change in the binary to have another one.
var mark = "mark:approved"

func main() {
	p := plugin.Plugin{
		Name:    "faulty",
		Version: "1.2.3",
		Storage: plugin.StorageKind{
			Capabilities: storage.AllCapabilities,
			Configure: func(context.Context, map[string]any) (storage.Driver, error) {
				return memory.New(memory.Options{}), nil
			},
		},
	}
	fault := os.Getenv("FAULT")
	if of, more := strings.CutSuffix(fault, " kinds"); more {
		asKinds(&p)
		fault = of
	}
	switch fault {
	case "crash":
		fmt.Fprintln(os.Stderr, "faulty: the disk is on fire")
		os.Exit(7)
	case "noise":
		fmt.Println("hello from the plugin")
	case "silent":
		time.Sleep(time.Hour)
	case "name":
		p.Name = "innocent"
	case "protocol":
		serve(99, &pluginv1.UnimplementedPluginServer{})
	case "older":
		serve(plugin.ProtocolVersion-1, &pluginv1.UnimplementedPluginServer{})
	case "describe":
		serve(plugin.ProtocolVersion, &hangs{})
	case "configure":
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) { select {} }
	case "refuse":
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			return nil, errors.New("the database says no")
		}
	case "unsupported":
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			return nil, storage.Errorf(storage.CodeUnsupported, "schema version 1: run the migration")
		}
	case "panic":
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) { panic("faulty: configure") }
	case "flaky": // comes up only when nothing stands at FLAG
		if _, err := os.Stat(os.Getenv("FLAG")); err == nil {
			os.Exit(9)
		}
	case "marked": // leaves a file at FLAG when it is not the binary that was approved
		if !strings.HasSuffix(mark, "approved") {
			if err := os.WriteFile(os.Getenv("FLAG"), []byte(mark), 0o600); err != nil {
				os.Exit(1)
			}
		}
	case "slow": // not ready for long when something stands at FLAG
		if _, err := os.Stat(os.Getenv("FLAG")); err == nil {
			time.Sleep(time.Hour)
		}
	case "grandchild": // leaves a process behind that holds its standard error
		sleep := exec.Command("/bin/sleep", "600")
		sleep.Stderr = os.Stderr
		if err := sleep.Start(); err != nil {
			os.Exit(1)
		}
		if err := os.WriteFile(os.Getenv("FLAG"), fmt.Append(nil, sleep.Process.Pid), 0o600); err != nil {
			os.Exit(1)
		}
	case "dies": // soon after it was ready
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			time.AfterFunc(50*time.Millisecond, func() { os.Exit(3) })
			return memory.New(memory.Options{}), nil
		}
	case "stuck": // answers for itself and not for its database
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			return stuck{memory.New(memory.Options{})}, nil
		}
	case "holds": // commits, for ever
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			return holds{memory.New(memory.Options{})}, nil
		}
	case "flood": // noise without an end or a line
		noise := bytes.Repeat([]byte("x"), 64<<10)
		for {
			if _, err := os.Stdout.Write(noise); err != nil {
				os.Exit(1)
			}
		}
	case "chatter":
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			fmt.Println("printed by a library")
			return memory.New(memory.Options{}), nil
		}
	case "kinds":
		asKinds(&p)
	case "unheard": // of a kind that this host does not know
		serve(plugin.ProtocolVersion, &unheard{})
	case "oversized":
		serve(plugin.ProtocolVersion, &boasts{})
	case "switch":
		p.ConfigSchema = []plugin.Setting{{Name: "migrate", Type: plugin.TypeBoolean}, {Name: "loud", Type: plugin.TypeString}}
		p.Storage.Configure = func(_ context.Context, config map[string]any) (storage.Driver, error) {
			return nil, fmt.Errorf("migrate is %v, loud is %v", config["migrate"], config["loud"])
		}
	case "directory":
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			dir, err := os.Getwd()
			return nil, fmt.Errorf("working directory %s, %v", dir, err)
		}
	case "environment":
		p.Storage.Configure = func(context.Context, map[string]any) (storage.Driver, error) {
			return nil, fmt.Errorf("environment %q", os.Environ())
		}
	}
	plugin.Serve(p)
}

// serve bypasses the SDK's own Plugin service.
func serve(version int, control pluginv1.PluginServer) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  plugin.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{version: {"plugin": &bare{control: control}}},
		GRPCServer:       goplugin.DefaultGRPCServer,
	})
	os.Exit(0)
}

type bare struct {
	goplugin.NetRPCUnsupportedPlugin
	control pluginv1.PluginServer
}

func (b *bare) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1.RegisterPluginServer(s, b.control)
	return nil
}

func (*bare) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// stuck waits for a database that never answers.
type stuck struct{ storage.Driver }

func (stuck) Open(ctx context.Context, _ string) (storage.Store, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// holds takes commits and answers none.
type holds struct{ storage.Driver }

func (h holds) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := h.Driver.Open(ctx, partition)
	return holdsCommits{s}, err
}

type holdsCommits struct{ storage.Store }

func (holdsCommits) Commit(ctx context.Context, _ storage.Commit) (storage.CommitResult, error) {
	fmt.Println("a commit is held") // in the host's log
	<-ctx.Done()
	return storage.CommitResult{}, ctx.Err()
}

// boasts describes itself at a length that no message may have.
type boasts struct{ hangs }

func (*boasts) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeReply, error) {
	return &pluginv1.DescribeReply{Name: "faulty", Version: strings.Repeat("9", 5<<20)}, nil
}

// unheard serves what only a later host knows.
type unheard struct{ hangs }

func (*unheard) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeReply, error) {
	return &pluginv1.DescribeReply{Name: "faulty", Kinds: []*pluginv1.Kind{{Name: "oracle"}}}, nil
}

// hangs answers the lifeline and nothing else.
type hangs struct {
	pluginv1.UnimplementedPluginServer
}

func (*hangs) Lifeline(_ *pluginv1.LifelineRequest, st grpc.ServerStreamingServer[pluginv1.LifelineReply]) error {
	if err := st.Send(&pluginv1.LifelineReply{}); err != nil {
		return err
	}
	<-st.Context().Done()
	return nil
}

func (*hangs) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeReply, error) {
	select {}
}
