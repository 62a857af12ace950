package adminsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/provider"
)

// Timeout bounds one operation asked of the host itself.
const Timeout = 35 * time.Second

// Client asks the host that serves one socket.
type Client struct {
	path   string
	caller provider.Caller
}

// New returns a client of the socket at path. Nothing is opened yet.
func New(path string) *Client { return NewOf(path, "") }

// NewOf is New for the host of one configuration file: a host that runs with another one
// answers nothing but that. A socket at its default place is the one of whichever host
// runs. With "" every host answers.
func NewOf(path, config string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	var transport http.RoundTripper = &http.Transport{DialContext: dial}
	if absolute, err := filepath.Abs(config); err == nil && config != "" {
		transport = naming{transport, url.PathEscape(absolute)}
	}
	return &Client{path, provider.Caller{Base: "http://local/local", Transport: transport}}
}

// Path is where the socket is.
func (c *Client) Path() string { return c.path }

// Caller posts operations that are named APP/OP.
func (c *Client) Caller() *provider.Caller { return &c.caller }

// Call asks one application.
func (c *Client) Call(ctx context.Context, app, op string, params, result any) error {
	return c.caller.Call(ctx, app+"/"+op, params, result)
}

// Host asks the host itself.
func (c *Client) Host(ctx context.Context, op string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return c.Call(ctx, api.HostApplication, op, params, result)
}

// Status is how the host itself is.
func (c *Client) Status(ctx context.Context) (status api.HostStatus, err error) {
	err = c.Host(ctx, "status", nil, &status)
	return status, err
}

// Answers reports whether a host serves the socket. An error is neither: whoever
// is refused by a host, or waits for it in vain, must not act as if none ran.
func (c *Client) Answers(ctx context.Context) (bool, error) {
	err := c.Host(ctx, "status", nil, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("whether a host is running at %s cannot be told: %w", c.path, err)
	}
	return true, nil
}

// Application is a caller whose operations go to one application.
func (c *Client) Application(app string) *provider.Caller {
	return &provider.Caller{Base: c.caller.Base, Transport: prefixed{c.caller.Transport, app}}
}

// naming says which configuration is meant.
type naming struct {
	http.RoundTripper
	config string
}

func (n naming) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(api.ConfigHeader, n.config)
	return n.RoundTripper.RoundTrip(r)
}

// prefixed puts the application into the path of the provider API.
type prefixed struct {
	http.RoundTripper
	app string
}

func (p prefixed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = strings.Replace(r.URL.Path, "/v1/", "/v1/"+p.app+"/", 1)
	return p.RoundTripper.RoundTrip(r)
}
