package prometheus

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/authzhost/authz/plugins/internal/outbound"
	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/plugin"
)

const (
	defaultPrefix   = "authz_"
	defaultInterval = 15 * time.Second
	defaultTimeout  = 10 * time.Second

	maxSeries = 1_000_000
)

// Options configures a sink; the settings of the same names describe the members.
// Listen or WriteURL is required. Zero durations, series and prefix are the defaults.
type Options struct {
	Listen      string
	AllowRemote bool
	CertFile    string
	KeyFile     string
	ScrapeAuth  Auth
	FinalScrape time.Duration

	WriteURL      string
	WriteInterval time.Duration
	WriteTimeout  time.Duration
	WriteCA       string
	WriteHeaders  []string
	WriteAuth     Auth

	StateDir        string
	OmitAttribution bool
	MaxSeries       int
	Prefix          string
	Labels          []string

	Clock func() time.Time // nil is the machine's clock
	Log   *slog.Logger     // nil is slog.Default
}

// Auth is a bearer token, or basic authentication, or neither.
type Auth struct{ Bearer, Username, Password string }

func (a Auth) none() bool { return a == Auth{} }

// label is a name and its value.
type label struct{ name, value string }

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func wrong(setting, format string, args ...any) *plugin.ConfigError {
	return &plugin.ConfigError{Field: setting, Message: fmt.Sprintf(format, args...)}
}

// filled puts defaults in place and refuses what makes no sense.
func (o Options) filled() (Options, error) {
	if o.Listen == "" && o.WriteURL == "" {
		return o, wrong("", "the sink needs %s or %s", settingListen, settingWriteURL)
	}
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if !metricName.MatchString(o.Prefix) || len(o.Prefix) > 64 {
		return o, wrong(settingPrefix, "must be the beginning of a metric's name, at most 64 letters, digits and _")
	}
	if o.MaxSeries == 0 {
		o.MaxSeries = totals.DefaultMaxSeries
	}
	if o.MaxSeries < 1 || o.MaxSeries > maxSeries {
		return o, wrong(settingMaxSeries, "must be between 1 and %d", maxSeries)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.FinalScrape < 0 || o.FinalScrape > time.Hour {
		return o, wrong(settingFinalScrape, "must be between 0 and an hour")
	}
	if _, err := o.labels(); err != nil {
		return o, err
	}
	if err := o.checkListen(); err != nil {
		return o, err
	}
	return o, o.checkWrite()
}

// labels reads Labels.
func (o *Options) labels() ([]label, error) {
	taken := map[string]bool{}
	for _, i := range totals.Instruments() {
		for _, name := range i.Labels() {
			taken[name] = true
		}
	}
	var all []label
	for _, l := range o.Labels {
		name, value, found := strings.Cut(l, "=")
		switch {
		case !found || !labelName.MatchString(name) || strings.HasPrefix(name, "__") || value == "" || !utf8.ValidString(value) || len(l) > 1024:
			return nil, wrong(settingLabels, `must be a list of "name=value"`)
		case taken[name]:
			return nil, wrong(settingLabels, "names a label twice, or one of the sink's own")
		}
		taken[name] = true
		all = append(all, label{name, value})
	}
	return all, nil
}

func (o *Options) checkListen() error {
	if o.Listen == "" {
		if !o.ScrapeAuth.none() || o.AllowRemote || o.FinalScrape > 0 || o.CertFile != "" || o.KeyFile != "" {
			return wrong(settingListen, "is required by what was said of scrapes")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		return wrong(settingListen, "must be host:port")
	case !o.AllowRemote && !outbound.Loopback(host):
		return wrong(settingListen, "is reached by other machines; set %s if that is meant", settingAllowRemote)
	case (o.CertFile == "") != (o.KeyFile == ""):
		return wrong(settingKeyFile, "goes with %s: both or neither", settingCertFile)
	}
	return checkAuth(o.ScrapeAuth, settingBearerToken, settingUsername, settingPassword)
}

func (o *Options) checkWrite() error {
	if o.WriteURL == "" {
		if !o.WriteAuth.none() || o.WriteCA != "" || len(o.WriteHeaders) > 0 {
			return wrong(settingWriteURL, "is required by what was said of remote-write")
		}
		return nil
	}
	u, err := url.Parse(o.WriteURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return wrong(settingWriteURL, "must be an http or https URL")
	case u.User != nil:
		return wrong(settingWriteURL, "must hold no credentials; %s and %s are for them", settingWriteUsername, settingWritePassword)
	case u.Scheme == "http" && !o.WriteAuth.none() && !outbound.Loopback(u.Hostname()):
		return wrong(settingWriteURL, "must be https where credentials are sent to another machine")
	case u.Scheme == "http" && o.WriteCA != "":
		return wrong(settingWriteCA, "is for an https URL")
	}
	if o.WriteInterval == 0 {
		o.WriteInterval = defaultInterval
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultTimeout
	}
	switch {
	case o.WriteInterval < 100*time.Millisecond || o.WriteInterval > time.Hour:
		return wrong(settingWriteInterval, "must be between 100ms and an hour")
	case o.WriteTimeout < 10*time.Millisecond || o.WriteTimeout > time.Hour:
		return wrong(settingWriteTimeout, "must be between 10ms and an hour")
	}
	if _, err := outbound.Headers(o.WriteHeaders); err != nil {
		return wrong(settingWriteHeaders, "%s", err)
	}
	return checkAuth(o.WriteAuth, settingWriteBearer, settingWriteUsername, settingWritePassword)
}

func checkAuth(a Auth, bearer, username, password string) error {
	switch {
	case a.Bearer != "" && (a.Username != "" || a.Password != ""):
		return wrong(bearer, "cannot be beside %s", username)
	case (a.Username == "") != (a.Password == ""):
		return wrong(username, "and %s go together", password)
	case strings.Contains(a.Username, ":"):
		return wrong(username, "must not hold a colon")
	case strings.ContainsFunc(a.Bearer, func(r rune) bool { return r <= ' ' || r > '~' }):
		return wrong(bearer, "must be made of visible ASCII characters")
	}
	return nil
}

// headers are those of every request of remote-write.
func (o *Options) headers() (http.Header, error) {
	h, err := outbound.Headers(o.WriteHeaders)
	if err != nil {
		return nil, err
	}
	switch a := o.WriteAuth; {
	case a.Bearer != "":
		h.Set("Authorization", "Bearer "+a.Bearer)
	case a.Username != "":
		request := http.Request{Header: h}
		request.SetBasicAuth(a.Username, a.Password)
	}
	return h, nil
}
