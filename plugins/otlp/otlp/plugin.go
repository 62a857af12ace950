package otlp

import (
	"context"
	"time"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

const name = "otlp"

// The names of the settings.
const (
	settingEndpoint    = "endpoint"
	settingProtocol    = "protocol"
	settingInsecure    = "insecure"
	settingCA          = "ca"
	settingHeaders     = "headers"
	settingTimeout     = "timeout"
	settingTemporality = "temporality"
	settingInterval    = "interval"
	settingStateDir    = "state_dir"
	settingResource    = "resource"
	settingAttribution = "attribution"
	settingMaxSeries   = "max_series"
	settingMaxMessage  = "max_message"
	settingPrefix      = "prefix"
)

// Plugin is the sink as a plugin binary serves it.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    name,
		Version: version,
		Sink: plugin.SinkKind{
			Capabilities: []metrics.SinkCapability{metrics.SinkRecognises},
			Configure: func(_ context.Context, config map[string]any) (metrics.Sink, error) {
				o := optionsOf(config)
				o.Version = version
				return Open(o)
			},
		},
		Check: func(config map[string]any) error {
			_, _, to, err := optionsOf(config).prepared()
			if err != nil {
				return err
			}
			return to.Close()
		},
		ConfigSchema: []plugin.Setting{
			{Name: settingEndpoint, Type: plugin.TypeString, Required: true,
				Description: "The collector: host:port for gRPC, such as 127.0.0.1:4317; a URL for HTTP, to which /v1/metrics is added unless it has a path."},
			{Name: settingProtocol, Type: plugin.TypeString, Default: ProtocolGRPC,
				Description: `"grpc" or "http" (protobuf).`},
			{Name: settingInsecure, Type: plugin.TypeBoolean, Default: false,
				Description: "Send gRPC in plaintext. Over HTTP the URL's scheme says it."},
			{Name: settingCA, Type: plugin.TypeString,
				Description: "A PEM file of the authorities that the collector's certificate is trusted by, instead of the system's."},
			{Name: settingHeaders, Type: plugin.TypeStrings, Secret: true,
				Description: `Headers of every request, each "Name: value", such as an API key's.`},
			{Name: settingTimeout, Type: plugin.TypeDuration, Default: defaultTimeout,
				Description: "How long an export may take, repetitions of a delta included."},
			{Name: settingTemporality, Type: plugin.TypeString, Default: TemporalityCumulative,
				Description: `"cumulative": totals, sent at an interval; a failed export loses nothing. "delta": one export a window, answered by the collector; what fails is lost, and counted by the host.`},
			{Name: settingInterval, Type: plugin.TypeDuration, Default: defaultInterval,
				Description: "How often cumulative totals are sent."},
			{Name: settingStateDir, Type: plugin.TypeString,
				Description: "A directory of this sink's own, made when missing, in which cumulative totals are durable before a window is acknowledged. Without it they begin at zero with the process."},
			{Name: settingResource, Type: plugin.TypeStrings, Default: []string{"service.name=authz"},
				Description: `Attributes of the resource, each "name=value".`},
			{Name: settingAttribution, Type: plugin.TypeBoolean, Default: true,
				Description: "Also count by grant, revoke and role, a series for each row that was used."},
			{Name: settingMaxSeries, Type: plugin.TypeInteger, Default: int64(totals.DefaultMaxSeries),
				Description: "The most cumulative series. At the bound those that did not grow for a day make room; else new ones are refused and counted."},
			{Name: settingMaxMessage, Type: plugin.TypeInteger, Default: int64(defaultMaxMessage),
				Description: "The most bytes of a request, by what the collector takes. More is sent in several."},
			{Name: settingPrefix, Type: plugin.TypeString, Default: defaultPrefix,
				Description: "Begins the name of every instrument."},
		},
	}
}

// optionsOf reads settings that were checked against the schema.
func optionsOf(config map[string]any) Options {
	text := func(name string) string { s, _ := config[name].(string); return s }
	list := func(name string) []string { l, _ := config[name].([]string); return l }
	duration := func(name string) time.Duration {
		d, _ := config[name].(time.Duration)
		if d == 0 {
			return -1 // a zero that was given is no default
		}
		return d
	}
	flag := func(name string) bool { b, _ := config[name].(bool); return b }
	number := func(name string) int {
		n, _ := config[name].(int64)
		if n == 0 {
			return -1
		}
		return int(min(n, 1<<31))
	}
	return Options{
		Endpoint: text(settingEndpoint), Protocol: text(settingProtocol), Insecure: flag(settingInsecure), CA: text(settingCA),
		Headers: list(settingHeaders), Timeout: duration(settingTimeout), Temporality: text(settingTemporality), Interval: duration(settingInterval),
		StateDir: text(settingStateDir), Resource: list(settingResource), OmitAttribution: !flag(settingAttribution),
		MaxSeries: number(settingMaxSeries), MaxMessage: number(settingMaxMessage), Prefix: text(settingPrefix),
	}
}
