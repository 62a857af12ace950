package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// dispensed is the one name under which a plugin set dispenses its Client.
const dispensed = "plugin"

// ClientSets are the wires that a host speaks, by protocol version.
func ClientSets() map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {dispensed: &clientSide{}}}
}

// SpokenVersions lists the protocol versions of ClientSets, ascending.
func SpokenVersions() []int { return slices.Sorted(maps.Keys(ClientSets())) }

// DialOptions bound what a host sends and accepts, and have calls carry the trace
// that they belong to.
func DialOptions() []grpc.DialOption { return append(dialTracing(), callOptions()...) }

// Dispense returns the Client of a started plugin.
func Dispense(p goplugin.ClientProtocol) (*Client, error) {
	raw, err := p.Dispense(dispensed)
	if err != nil {
		return nil, err
	}
	client, ok := raw.(*Client)
	if !ok {
		return nil, fmt.Errorf("the plugin set dispensed %T", raw)
	}
	return client, nil
}

// clientSide is go-plugin's view of the host's half.
type clientSide struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (*clientSide) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host serves no plugin")
}

func (*clientSide) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return NewClient(conn), nil
}

// Client is the host's side of one plugin process. Errors of Describe and
// Configure are *ConfigError, *storage.Error, or the plugin's own words.
type Client struct {
	control  pluginv1.PluginClient
	storage  pluginv1.StorageClient
	sink     pluginv1.MetricsSinkClient
	importer pluginv1.DirectoryImporterClient
}

// NewClient speaks to the plugin behind conn.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{
		control: pluginv1.NewPluginClient(conn), storage: pluginv1.NewStorageClient(wide{conn}),
		sink: pluginv1.NewMetricsSinkClient(conn), importer: pluginv1.NewDirectoryImporterClient(conn),
	}
}

// Lifeline opens the plugin's lifeline and returns once the plugin holds it.
// ended is closed when the plugin lets go or ctx ends; the plugin then exits.
func (c *Client) Lifeline(ctx context.Context) (ended <-chan struct{}, err error) {
	st, err := c.control.Lifeline(ctx, &pluginv1.LifelineRequest{})
	if err != nil {
		return nil, plainError(ctx, err)
	}
	if _, err := st.Recv(); err != nil {
		return nil, plainError(ctx, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := st.Recv(); err != nil {
				return
			}
		}
	}()
	return done, nil
}

// Describe asks the plugin what it is.
func (c *Client) Describe(ctx context.Context) (Description, error) {
	r, err := c.control.Describe(ctx, &pluginv1.DescribeRequest{})
	if err != nil {
		return Description{}, plainError(ctx, err)
	}
	d := Description{Name: r.GetName(), Version: r.GetVersion()}
	for _, k := range r.GetKinds() {
		d.Kinds = append(d.Kinds, Kind{Name: k.GetName(), Capabilities: k.GetCapabilities()})
	}
	for _, s := range r.GetSettings() {
		setting := Setting{
			Name: s.GetName(), Type: SettingType(s.GetType()), Required: s.GetRequired(), Secret: s.GetSecret(),
			Description: s.GetDescription(),
		}
		if s.DefaultJson != nil {
			if err := json.Unmarshal([]byte(s.GetDefaultJson()), &setting.Default); err != nil {
				return d, fmt.Errorf("the default of setting %q cannot be read: %w", s.GetName(), err)
			}
		}
		d.Settings = append(d.Settings, setting)
	}
	return d, nil
}

// CheckConfig asks the plugin to judge settings; nothing is opened for them. A plugin
// that cannot be asked is judged by the settings that d says it declares.
func (c *Client) CheckConfig(ctx context.Context, d Description, config map[string]any) error {
	document, err := document(config)
	if err != nil {
		return err
	}
	_, err = c.control.CheckConfig(ctx, &pluginv1.ConfigureRequest{ConfigJson: document})
	if status.Code(err) == codes.Unimplemented {
		_, err = settings(d.Settings, document)
		return err
	}
	return plainError(ctx, err)
}

// document is a configuration as it crosses the wire.
func document(config map[string]any) ([]byte, error) {
	if config == nil {
		config = map[string]any{}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, &ConfigError{Message: "the configuration is no JSON object"}
	}
	return text, nil
}

// Configured is what a plugin serves once it is configured; a kind that it does
// not serve is nil. Closing the driver stops all of the plugin; closing the sink or
// the importer ends that one.
type Configured struct {
	Storage  storage.Driver
	Sink     metrics.Sink
	Importer directory.Importer
}

// Configure gives the plugin its settings, once.
func (c *Client) Configure(ctx context.Context, config map[string]any) (Configured, error) {
	var out Configured
	document, err := document(config)
	if err != nil {
		return out, err
	}
	r, err := c.control.Configure(ctx, &pluginv1.ConfigureRequest{ConfigJson: document})
	if err != nil {
		return out, plainError(ctx, err)
	}
	if i := r.GetStorage(); i != nil {
		out.Storage = &driverClient{rpc: c.storage, stop: c.Stop, info: storage.DriverInfo{
			Name: i.GetName(), Durable: i.Durable, CrossProcess: i.GetCrossProcess(),
		}}
	}
	if i := r.GetSink(); i != nil {
		out.Sink = &sinkClient{rpc: c.sink, info: metrics.SinkInfo{
			Name: i.GetName(), Capabilities: named[metrics.SinkCapability](i.GetCapabilities())}}
	}
	if i := r.GetImporter(); i != nil {
		out.Importer = &importerClient{rpc: c.importer, info: directory.ImporterInfo{
			Name: i.GetName(), Capabilities: named[directory.ImporterCapability](i.GetCapabilities())}}
	}
	return out, nil
}

// Stop closes what Configure opened.
func (c *Client) Stop(ctx context.Context) error {
	_, err := c.control.Stop(ctx, &pluginv1.StopRequest{})
	return plainError(ctx, err)
}

// plainError gives an error of the control service its type back, or strips the
// transport's decoration.
func plainError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *pluginv1.ConfigProblem:
			return &ConfigError{Field: d.GetField(), Message: d.GetMessage(), Suggestion: d.GetSuggestion()}
		case *pluginv1.Error:
			return decodeError(d)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.Code() == codes.DeadlineExceeded { // the plugin's clock saw it first
		return context.DeadlineExceeded
	}
	return errors.New(s.Message())
}
