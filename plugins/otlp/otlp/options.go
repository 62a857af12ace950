package otlp

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/authzhost/authz/plugins/internal/outbound"
	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/plugin/otlp/upload"
)

// The protocols and temporalities.
const (
	ProtocolGRPC = "grpc"
	ProtocolHTTP = "http"

	TemporalityCumulative = "cumulative"
	TemporalityDelta      = "delta"
)

const (
	defaultTimeout    = 10 * time.Second
	defaultInterval   = 15 * time.Second
	defaultPrefix     = "authz."
	defaultMaxMessage = 4 << 20 // what a collector takes over gRPC unless told otherwise
	leastMaxMessage   = 64 << 10
	mostMaxMessage    = 1 << 30
	maxSeries         = 1_000_000
)

// Options configures a sink; the settings of the same names describe the members.
// Endpoint is required; zero values are the defaults.
type Options struct {
	Endpoint string
	Protocol string
	Insecure bool
	CA       string
	Headers  []string
	Timeout  time.Duration

	Temporality string
	Interval    time.Duration
	StateDir    string

	Resource        []string
	OmitAttribution bool
	MaxSeries       int
	MaxMessage      int
	Prefix          string

	Version string           // of the sink, told with what it sends
	Clock   func() time.Time // nil is the machine's clock
	Log     *slog.Logger     // nil is slog.Default
}

var (
	instrumentName = regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9_./]{0,62}$`)
	grpcName       = regexp.MustCompile(`^[-0-9a-z_.]+$`)
)

func wrong(setting, format string, args ...any) *plugin.ConfigError {
	return &plugin.ConfigError{Field: setting, Message: fmt.Sprintf(format, args...)}
}

// filled puts defaults in place and refuses what makes no sense.
func (o Options) filled() (Options, error) {
	fill(&o.Protocol, ProtocolGRPC)
	fill(&o.Temporality, TemporalityCumulative)
	fill(&o.Prefix, defaultPrefix)
	fill(&o.Timeout, defaultTimeout)
	fill(&o.Interval, defaultInterval)
	fill(&o.MaxSeries, totals.DefaultMaxSeries)
	fill(&o.MaxMessage, defaultMaxMessage)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	switch {
	case o.Protocol != ProtocolGRPC && o.Protocol != ProtocolHTTP:
		return o, wrong(settingProtocol, `must be "grpc" or "http"`)
	case o.Temporality != TemporalityCumulative && o.Temporality != TemporalityDelta:
		return o, wrong(settingTemporality, `must be "cumulative" or "delta"`)
	case o.Temporality == TemporalityDelta && o.StateDir != "":
		return o, wrong(settingStateDir, "is for cumulative totals")
	case !instrumentName.MatchString(o.Prefix):
		return o, wrong(settingPrefix, "must be the beginning of an instrument's name: a letter, then at most 62 letters, digits and _ - . /")
	case o.Timeout < 10*time.Millisecond || o.Timeout > time.Hour:
		return o, wrong(settingTimeout, "must be between 10ms and an hour")
	case o.Interval < 100*time.Millisecond || o.Interval > time.Hour:
		return o, wrong(settingInterval, "must be between 100ms and an hour")
	case o.MaxSeries < 1 || o.MaxSeries > maxSeries:
		return o, wrong(settingMaxSeries, "must be between 1 and %d", maxSeries)
	case o.MaxMessage < leastMaxMessage || o.MaxMessage > mostMaxMessage:
		return o, wrong(settingMaxMessage, "must be between %d and %d", leastMaxMessage, mostMaxMessage)
	}
	if _, err := o.resource(); err != nil {
		return o, err
	}
	return o, o.checkEndpoint()
}

func fill[T comparable](value *T, fallback T) {
	if *value == *new(T) {
		*value = fallback
	}
}

func (o *Options) checkEndpoint() error {
	if o.Protocol == ProtocolGRPC {
		host, _, err := net.SplitHostPort(o.Endpoint)
		switch {
		case err != nil || host == "" || strings.ContainsAny(o.Endpoint, "/@"):
			return wrong(settingEndpoint, "must be host:port")
		case o.Insecure && o.CA != "":
			return wrong(settingCA, "is of no use in plaintext")
		case o.Insecure && len(o.Headers) > 0 && !outbound.Loopback(host):
			return wrong(settingInsecure, "must be left out where headers are sent to another machine")
		}
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return wrong(settingEndpoint, "must be an http or https URL")
	case u.User != nil:
		return wrong(settingEndpoint, "must hold no credentials; %s are for them", settingHeaders)
	case o.Insecure:
		return wrong(settingInsecure, "is for gRPC; the URL's scheme says it")
	case u.Scheme == "http" && o.CA != "":
		return wrong(settingCA, "is for an https URL")
	case u.Scheme == "http" && len(o.Headers) > 0 && !outbound.Loopback(u.Hostname()):
		return wrong(settingEndpoint, "must be https where headers are sent to another machine")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = upload.Metrics.Path()
		o.Endpoint = u.String()
	}
	return nil
}

// resource reads Resource.
func (o *Options) resource() ([]*commonpb.KeyValue, error) {
	var all []*commonpb.KeyValue
	for _, line := range o.Resource {
		name, value, found := strings.Cut(line, "=")
		if !found || name == "" || len(line) > 1024 || !utf8.ValidString(line) {
			return nil, wrong(settingResource, `must be a list of "name=value"`)
		}
		all = append(all, text(name, value))
	}
	return all, nil
}

func unprintable(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// uploader is the way to the collector.
func (o *Options) uploader() (upload.Uploader, error) {
	headers, err := outbound.Headers(o.Headers)
	if err != nil {
		return nil, wrong(settingHeaders, "%s", err)
	}
	roots, err := outbound.TLS(o.CA)
	if err != nil {
		return nil, wrong(settingCA, "%s", err)
	}
	if o.Protocol == ProtocolHTTP {
		return upload.OverHTTP(o.Endpoint, roots, headers)
	}
	for name, values := range headers {
		switch name = strings.ToLower(name); {
		case strings.HasPrefix(name, "grpc-"):
			return nil, wrong(settingHeaders, "must not begin with grpc-")
		case !grpcName.MatchString(name), !strings.HasSuffix(name, "-bin") && slices.ContainsFunc(values, unprintable):
			return nil, wrong(settingHeaders, "must be made of what gRPC carries: letters, digits and _ - . in names, printable ASCII characters in values")
		}
	}
	if o.Insecure {
		roots = nil
	}
	to, err := upload.OverGRPC(o.Endpoint, roots, headers)
	if err != nil {
		return nil, wrong(settingEndpoint, "is no address of a collector")
	}
	return to, nil
}
