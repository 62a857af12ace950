package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// controlServer serves the life of a plugin: Lifeline, Describe, Configure, Stop.
type controlServer struct {
	pluginv1.UnimplementedPluginServer
	plugin   Plugin
	storage  *storageServer
	sink     *sinkServer
	importer *importerServer
	life     *life
	spans    *tracing

	configuring sync.Mutex
	configured  bool
}

func (c *controlServer) Lifeline(_ *pluginv1.LifelineRequest, st grpc.ServerStreamingServer[pluginv1.LifelineReply]) error {
	c.life.held()
	if err := st.Send(&pluginv1.LifelineReply{}); err == nil {
		<-st.Context().Done()
	}
	c.life.end("its host let go")
	return status.Error(codes.Unavailable, "the plugin exits")
}

func (c *controlServer) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeReply, error) {
	reply := &pluginv1.DescribeReply{Name: c.plugin.Name, Version: c.plugin.Version}
	for _, k := range c.plugin.kinds() {
		reply.Kinds = append(reply.Kinds, &pluginv1.Kind{Name: k.Name, Capabilities: k.Capabilities})
	}
	for _, s := range c.plugin.ConfigSchema {
		setting := &pluginv1.Setting{
			Name: s.Name, Type: string(s.Type), Required: s.Required, Secret: s.Secret, Description: s.Description,
		}
		if s.Default != nil && !s.Secret {
			shown := s.Default
			if d, ok := shown.(time.Duration); ok {
				shown = d.String()
			}
			b, err := json.Marshal(shown)
			if err != nil {
				return nil, status.Error(codes.Internal, "a default cannot be encoded")
			}
			text := string(b)
			setting.DefaultJson = &text
		}
		reply.Settings = append(reply.Settings, setting)
	}
	return reply, nil
}

func (c *controlServer) CheckConfig(_ context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.CheckConfigReply, error) {
	config, err := settings(c.plugin.ConfigSchema, r.GetConfigJson())
	if err != nil {
		return nil, configStatus(err)
	}
	if check := c.plugin.Check; check != nil {
		if err := check(config); err != nil {
			return nil, c.refusal(err)
		}
	}
	return &pluginv1.CheckConfigReply{}, nil
}

func (c *controlServer) Configure(ctx context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureReply, error) {
	c.configuring.Lock()
	defer c.configuring.Unlock()
	if c.configured {
		return nil, status.Error(codes.FailedPrecondition, "the plugin is already configured")
	}
	config, err := settings(c.plugin.ConfigSchema, r.GetConfigJson())
	if err != nil {
		return nil, configStatus(err)
	}
	reply, err := c.open(ctx, config)
	if err != nil {
		c.close(ctx)
		return nil, c.refusal(err)
	}
	c.configured = true
	return reply, nil
}

// open configures every kind that the plugin serves.
func (c *controlServer) open(ctx context.Context, config map[string]any) (*pluginv1.ConfigureReply, error) {
	reply := &pluginv1.ConfigureReply{}
	if configure := c.plugin.Storage.Configure; configure != nil {
		driver, err := configure(ctx, maps.Clone(config))
		if err != nil {
			return nil, err
		}
		c.storage.use(driver)
		info := driver.Info()
		reply.Storage = &pluginv1.DriverInfo{Name: info.Name, Durable: info.Durable, CrossProcess: info.CrossProcess}
	}
	if configure := c.plugin.Sink.Configure; configure != nil {
		sink, err := configure(ctx, maps.Clone(config))
		if err != nil {
			return nil, err
		}
		c.sink.use(sink)
		info := sink.Info()
		reply.Sink = &pluginv1.SinkInfo{Name: info.Name, Capabilities: namesOf(info.Capabilities)}
	}
	if configure := c.plugin.Importer.Configure; configure != nil {
		importer, err := configure(ctx, maps.Clone(config))
		if err != nil {
			return nil, err
		}
		c.importer.use(importer)
		info := importer.Info()
		reply.Importer = &pluginv1.ImporterInfo{Name: info.Name, Capabilities: namesOf(info.Capabilities)}
	}
	return reply, nil
}

// close ends what open opened, side by side: none of them waits for another's
// share of ctx.
func (c *controlServer) close(ctx context.Context) {
	var closing sync.WaitGroup
	for _, kind := range []struct {
		name  string
		close func() error
	}{
		{"the driver", c.storage.stop},
		{theSink, func() error { return c.sink.stop(ctx) }},
		{theImporter, c.importer.stop},
	} {
		closing.Go(func() {
			if err := kind.close(); err != nil {
				c.storage.log.Error(kind.name+" did not close cleanly", "error", err)
			}
		})
	}
	closing.Wait()
}

// refusal keeps the identity of a driver's refusal; any other text is the
// plugin's word to its operator.
func (c *controlServer) refusal(err error) error {
	var own *ConfigError
	if errors.As(err, &own) {
		return configStatus(err)
	}
	var typed *storage.Error
	if errors.As(err, &typed) {
		return toStatus(err, false, c.storage.log)
	}
	return status.Error(codes.Unknown, errorText(err.Error()))
}

func configStatus(err error) error {
	var e *ConfigError
	if !errors.As(err, &e) {
		return status.Error(codes.InvalidArgument, errorText(err.Error()))
	}
	s, withErr := status.New(codes.InvalidArgument, errorText(e.Error())).WithDetails(&pluginv1.ConfigProblem{
		Field: errorText(e.Field), Message: errorText(e.Message), Suggestion: e.Suggestion,
	})
	if withErr != nil {
		return status.Error(codes.InvalidArgument, errorText(e.Error()))
	}
	return s.Err()
}

func (c *controlServer) Stop(ctx context.Context, _ *pluginv1.StopRequest) (*pluginv1.StopReply, error) {
	c.close(ctx)
	c.spans.stop()
	return &pluginv1.StopReply{}, nil
}
