package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// target says which running host a command talks to.
type target struct {
	app, socket, url, tokenFile string
	org                         string // at the hosted API
	caFile                      string
	config                      string
	offline                     bool        // without a host the configuration is worked with
	configGiven                 func() bool // as --config, not by the environment; nil: it is not taken
}

func (t *target) addSocket(c *cobra.Command) {
	t.addConfig(c, "the configuration of the host of this machine: the command asks its socket")
	c.Flags().StringVar(&t.socket, "socket", "", "the host's administration socket (default: that of --config, else of a quickstart below ./"+dataDir+", else the default one)")
	_ = c.MarkFlagFilename("socket")
}

func (t *target) addApp(c *cobra.Command) {
	c.Flags().StringVar(&t.app, "app", "", "the application (default: the only one)")
}

func (t *target) addURL(c *cobra.Command) {
	c.Flags().StringVar(&t.url, "url", "", "the provider API instead of the socket, such as http://127.0.0.1:8080 or …/apps/docs")
	c.Flags().StringVar(&t.tokenFile, "token-file", "", "the file that holds the bearer token for --url")
	_ = c.MarkFlagFilename("token-file")
	t.addCAFile(c)
	after(c, func() error {
		if t.caFile != "" && t.url == "" && t.org == "" {
			return usageError{errors.New("--ca-file goes with --url or --org: the socket needs no certificate")}
		}
		return nil
	})
}

// after has a check made before the command runs, beside those that were asked for before.
func after(c *cobra.Command, check func() error) {
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if before != nil {
			if err := before(c, args); err != nil {
				return err
			}
		}
		return check()
	}
}

// callTimeout bounds one operation asked of a host.
const callTimeout = adminsocket.Timeout

// local speaks to the administration socket.
func (t *target) local() (*adminsocket.Client, error) {
	if t.tokenFile != "" && t.url == "" {
		return nil, usageError{errors.New("--token-file goes with --url: the socket needs no token")}
	}
	path := t.socket
	if path == "" {
		var err error
		if path, err = t.findSocket(); err != nil {
			return nil, err
		}
		if path != os.Getenv("AUTHZ_SOCKET") {
			if err := ownSocket(path); err != nil {
				return nil, err
			}
		}
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.Mode()&fs.ModeSocket == 0:
		return nil, usageError{fmt.Errorf("%s is no socket: a host's is authz.sock in its run_dir", path)}
	case err != nil:
		return nil, fmt.Errorf("no host is serving %s — start one with 'authz serve' or 'authz quickstart', or name its --config or --socket", path)
	}
	return adminsocket.NewOf(path, t.configOf(path)), nil
}

// configOf is the configuration whose host is meant: whoever names a socket means whoever
// serves it.
func (t *target) configOf(socket string) string {
	if t.socket != "" || socket == os.Getenv("AUTHZ_SOCKET") {
		return ""
	}
	return t.config
}

// findSocket prefers what is configured, then the quickstart of this directory, over the
// default.
func (t *target) findSocket() (string, error) {
	if configured := os.Getenv("AUTHZ_SOCKET"); configured != "" {
		return configured, nil
	}
	if t.config != "" {
		cfg, err := t.configuration()
		if err != nil {
			return "", err
		}
		return cfg.Socket, nil
	}
	if dir, err := filepath.Abs(dataDir); err == nil {
		if path := filepath.Join(runDirFor(dir), socketName); exists(path) {
			return path, nil
		}
	}
	// Of its files only the path of the socket matters, which is judged where it is used.
	cfg, err := config.Load(config.Source{Environ: os.Environ(), Overrides: map[string]any{"insecure_permissions": config.InsecureAllow}})
	if err != nil {
		return filepath.Join(runDirFor(dataDir), socketName), nil
	}
	return cfg.Socket, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// onlyApp is the application to talk to when none was named.
func onlyApp(ctx context.Context, host *adminsocket.Client, named string) (string, error) {
	status, err := host.Status(ctx)
	if err != nil {
		return "", err
	}
	if named != "" && !slices.Contains(status.Applications, named) {
		advice := ""
		if near := spell.Nearest(named, status.Applications); near != "" {
			advice = "did you mean " + near + "? "
		}
		return "", authz.Rejected(authz.CodeNotFound, "this host serves no application %s: %sit serves %s", spell.Quote(named), advice, strings.Join(status.Applications, ", "))
	}
	if named != "" {
		return named, nil
	}
	if len(status.Applications) != 1 {
		return "", usageError{fmt.Errorf("this host serves %d applications (%s): name one with --app",
			len(status.Applications), strings.Join(status.Applications, ", "))}
	}
	return status.Applications[0], nil
}

// localApplication is the application to talk to over the socket.
func (t *target) localApplication(ctx context.Context) (*application, error) {
	local, err := t.local()
	if err != nil {
		return nil, err
	}
	name, err := onlyApp(ctx, local, t.app)
	if err != nil {
		return nil, err
	}
	caller := local.Application(name)
	return &application{asked: guarded{caller, true}, provider: caller, local: local, where: name}, nil
}

// remote speaks to the provider API.
func (t *target) remote() (*provider.Caller, error) {
	c := &provider.Caller{Base: t.url}
	if err := checkURL(t.url); err != nil {
		return nil, usageError{err}
	}
	if t.socket != "" {
		return nil, usageError{errors.New("--url asks a host over the network, --socket that of this machine: give one of them")}
	}
	if t.tokenFile == "" {
		return nil, usageError{fmt.Errorf("--url needs --token-file, the file that holds the bearer token")}
	}
	var err error
	if c.Secret, err = readToken(t.tokenFile); err != nil {
		return nil, err
	}
	if c.Transport, err = transport(t.url, t.caFile); err != nil {
		return nil, err
	}
	if t.app != "" {
		c.Base = strings.TrimSuffix(t.url, "/") + "/apps/" + t.app
	}
	return c, nil
}

// readToken reads the file of a token, which holds nothing else.
func readToken(file string) (string, error) {
	text, err := input.ReadFile(nil, file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usageError{fmt.Errorf("%s must hold a token on one line, and nothing else", file)}
	}
	return token, nil
}

// checkURL refuses to send a bearer token where others could read it on its way.
func checkURL(given string) error {
	u, err := url.Parse(given)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("--url must be an absolute URL, such as http://127.0.0.1:8080 or https://authz.example/apps/docs")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("--url must hold no user, query or fragment; the token comes from --token-file")
	case u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
		return fmt.Errorf("--url %s would send the token unencrypted: use https for other machines", u)
	}
	return nil
}
