package prometheus

import (
	"context"
	"time"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

const name = "prometheus"

// The names of the settings.
const (
	settingListen        = "listen"
	settingAllowRemote   = "allow_remote"
	settingCertFile      = "cert_file"
	settingKeyFile       = "key_file"
	settingBearerToken   = "bearer_token"
	settingUsername      = "username"
	settingPassword      = "password"
	settingFinalScrape   = "final_scrape"
	settingWriteURL      = "remote_write_url"
	settingWriteInterval = "remote_write_interval"
	settingWriteTimeout  = "remote_write_timeout"
	settingWriteCA       = "remote_write_ca"
	settingWriteHeaders  = "remote_write_headers"
	settingWriteBearer   = "remote_write_bearer_token"
	settingWriteUsername = "remote_write_username"
	settingWritePassword = "remote_write_password"
	settingStateDir      = "state_dir"
	settingAttribution   = "attribution"
	settingMaxSeries     = "max_series"
	settingPrefix        = "prefix"
	settingLabels        = "labels"
)

// Plugin is the sink as a plugin binary serves it.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    name,
		Version: version,
		Sink: plugin.SinkKind{
			Capabilities: []metrics.SinkCapability{metrics.SinkRecognises},
			Configure: func(_ context.Context, config map[string]any) (metrics.Sink, error) {
				return Open(optionsOf(config))
			},
		},
		Check: func(config map[string]any) error {
			s, _, err := prepare(optionsOf(config))
			if err == nil && s.options.CertFile != "" {
				_, err = openCertificate(&s.options)
			}
			return err
		},
		ConfigSchema: []plugin.Setting{
			{Name: settingListen, Type: plugin.TypeString,
				Description: "The address, host:port, at which /metrics is scraped. Without it nothing listens."},
			{Name: settingAllowRemote, Type: plugin.TypeBoolean, Default: false,
				Description: "Let listen be an address that other machines reach. Without cert_file the endpoint speaks plain HTTP."},
			{Name: settingCertFile, Type: plugin.TypeString,
				Description: "The certificate chain of the endpoint, PEM: with it, it speaks TLS only. Read again when it changes."},
			{Name: settingKeyFile, Type: plugin.TypeString,
				Description: "The private key of cert_file, PEM."},
			{Name: settingBearerToken, Type: plugin.TypeString, Secret: true,
				Description: "The token that a scrape must bear."},
			{Name: settingUsername, Type: plugin.TypeString,
				Description: "The user of basic authentication that a scrape must name, with password. Not beside bearer_token."},
			{Name: settingPassword, Type: plugin.TypeString, Secret: true,
				Description: "The password of username."},
			{Name: settingFinalScrape, Type: plugin.TypeDuration, Default: time.Duration(0),
				Description: "How long a stop waits, within the host's patience, for a last scrape of counts that were not scraped yet. Needless with state_dir."},
			{Name: settingWriteURL, Type: plugin.TypeString,
				Description: "The remote-write endpoint, such as https://prometheus.example/api/v1/write. Without it nothing is written."},
			{Name: settingWriteInterval, Type: plugin.TypeDuration, Default: defaultInterval,
				Description: "How often all counters are written."},
			{Name: settingWriteTimeout, Type: plugin.TypeDuration, Default: defaultTimeout,
				Description: "How long one writing of all counters may take."},
			{Name: settingWriteCA, Type: plugin.TypeString,
				Description: "A PEM file of the authorities that remote_write_url's certificate is trusted by, instead of the system's."},
			{Name: settingWriteHeaders, Type: plugin.TypeStrings, Secret: true,
				Description: `Headers of every request, each "Name: value", such as a tenant's.`},
			{Name: settingWriteBearer, Type: plugin.TypeString, Secret: true,
				Description: "The token that requests bear."},
			{Name: settingWriteUsername, Type: plugin.TypeString,
				Description: "The user of basic authentication, with remote_write_password. Not beside remote_write_bearer_token."},
			{Name: settingWritePassword, Type: plugin.TypeString, Secret: true,
				Description: "The password of remote_write_username."},
			{Name: settingStateDir, Type: plugin.TypeString,
				Description: "A directory of this sink's own, made when missing, in which counters are durable before a window is acknowledged. Without it they begin at zero with the process."},
			{Name: settingAttribution, Type: plugin.TypeBoolean, Default: true,
				Description: "Also count by grant, revoke and role, a series for each row that was used."},
			{Name: settingMaxSeries, Type: plugin.TypeInteger, Default: int64(totals.DefaultMaxSeries),
				Description: "The most series. At the bound those that did not grow for a day make room; else new ones are refused and counted."},
			{Name: settingPrefix, Type: plugin.TypeString, Default: defaultPrefix,
				Description: "Begins the name of every counter."},
			{Name: settingLabels, Type: plugin.TypeStrings,
				Description: `Labels of every series, each "name=value". Remote-written series have no job unless one is given here.`},
		},
	}
}

// optionsOf reads settings that were checked against the schema.
func optionsOf(config map[string]any) Options {
	text := func(name string) string { s, _ := config[name].(string); return s }
	list := func(name string) []string { l, _ := config[name].([]string); return l }
	duration := func(name string) time.Duration { d, _ := config[name].(time.Duration); return d }
	given := func(d time.Duration) time.Duration {
		if d == 0 {
			return -1 // a zero that was given is no default
		}
		return d
	}
	remote, _ := config[settingAllowRemote].(bool)
	attribution, _ := config[settingAttribution].(bool)
	series, _ := config[settingMaxSeries].(int64)
	if series == 0 {
		series = -1
	}
	return Options{
		Listen: text(settingListen), AllowRemote: remote, CertFile: text(settingCertFile), KeyFile: text(settingKeyFile), FinalScrape: duration(settingFinalScrape),
		ScrapeAuth: Auth{Bearer: text(settingBearerToken), Username: text(settingUsername), Password: text(settingPassword)},
		WriteURL:   text(settingWriteURL), WriteInterval: given(duration(settingWriteInterval)), WriteTimeout: given(duration(settingWriteTimeout)),
		WriteCA: text(settingWriteCA), WriteHeaders: list(settingWriteHeaders),
		WriteAuth: Auth{Bearer: text(settingWriteBearer), Username: text(settingWriteUsername), Password: text(settingWritePassword)},
		StateDir:  text(settingStateDir), OmitAttribution: !attribution, MaxSeries: int(min(series, maxSeries+1)),
		Prefix: text(settingPrefix), Labels: list(settingLabels),
	}
}
