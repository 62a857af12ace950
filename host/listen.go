package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/api/dashboard"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/web"
)

// listener is one server with where it listens.
type listener struct {
	name   string
	server *http.Server
	net    net.Listener
	done   chan struct{} // closed when it serves no more; nil before it serves
}

// stop ends requests in flight, within the context, and then cuts what is left.
func (l *listener) stop(ctx context.Context) error {
	if l.done == nil {
		return l.net.Close()
	}
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // what is left is cut off; the context's end is the error
		return fmt.Errorf("stop listening on %s: %w", l.name, err)
	}
	<-l.done
	return nil
}

// listen opens the listeners; only when all of them are there does any serve. The
// public one is first: with port 0 only it knows where browsers reach the hosted
// service.
func (h *Host) listen(ctx context.Context, cfg *config.Config, drivers map[string]*pluginhost.Plugin) error {
	tcp := func(address string) func() (net.Listener, error) {
		return func() (net.Listener, error) { return net.Listen("tcp", address) }
	}
	listening, err := h.bind("listen", tcp(cfg.Listen))
	if err != nil {
		return err
	}
	var at string // where browsers reach the service
	if cfg.Service != nil {
		at = publicURL(cfg, listening.net.Addr())
		if h.service, err = h.openService(ctx, cfg, drivers[cfg.Service.Storage.Driver], at); err != nil {
			return err
		}
	}
	var tls func() listen.TLSFiles
	if cfg.TLS.Cert != "" {
		tls = func() listen.TLSFiles {
			t := h.config.Load().TLS
			return listen.TLSFiles{Cert: t.Cert, Key: t.Key, ClientCA: t.ClientCA, Exposed: h.config.Load().AllowsInsecure()}
		}
	}
	public, err := h.publicHandler(cfg, at)
	if err != nil {
		return err
	}
	local, err := api.NewLocalHandler(api.LocalOptions{Applications: h.localApplication, Host: control{h}, Config: absolute(cfg.File), BodyLimit: cfg.Limits.Body,
		OrgSnapshotBodyLimit: cfg.Limits.OrgSnapshotBody, Logger: h.log})
	if err != nil {
		return err
	}
	ops, err := api.NewOpsHandler(api.OpsOptions{Checks: func(context.Context) []api.Check { return h.checks() },
		Details: h.readyDetails, Metrics: h.observation.metricsHandler(), Profiles: cfg.Ops.Profiles})
	if err != nil {
		return err
	}
	if err := listening.serves(listen.ServerOptions{Handler: h.observed(public, cfg), TLS: tls, Certificate: h.certificate.Store, Logger: h.log}); err != nil {
		return err
	}
	socket, err := h.bind("socket", func() (net.Listener, error) { return listen.Local(cfg.Socket, cfg.AllowsInsecure()) })
	if err != nil {
		return err
	}
	if err := socket.serves(listen.ServerOptions{Handler: h.observed(local, cfg), Logger: h.log}); err != nil {
		return err
	}
	if cfg.OpsListen != "" {
		at, err := h.bind("ops_listen", tcp(cfg.OpsListen))
		if err != nil {
			return err
		}
		if a, ok := at.net.Addr().(*net.TCPAddr); cfg.Ops.Profiles && !(ok && a.IP.IsLoopback()) {
			return fmt.Errorf("ops_listen: profiles show what is in memory, and are served on loopback only, not at %s: switch ops.profiles off", at.net.Addr())
		}
		opsTLS := tls
		if !cfg.OpsTLS() {
			opsTLS = nil
		}
		if err := at.serves(listen.ServerOptions{Handler: ops, TLS: opsTLS, Logger: h.log}); err != nil {
			return err
		}
	}
	for _, l := range h.servers {
		l.done = make(chan struct{})
		go h.serve(l)
	}
	if h.service != nil {
		h.service.start()
	}
	return nil
}

// absolute is "" for no file.
func absolute(file string) string {
	if path, err := filepath.Abs(file); err == nil && file != "" {
		return path
	}
	return file
}

func (h *Host) bind(name string, open func() (net.Listener, error)) (*listener, error) {
	at, err := open()
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %w; another program listens there: stop it, or give %s another address", name, err, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l := &listener{name: name, net: at}
	h.servers = append(h.servers, l)
	return l, nil
}

func (l *listener) serves(o listen.ServerOptions) (err error) {
	if l.server, err = listen.NewServer(o); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

func (h *Host) serve(l *listener) {
	defer close(l.done)
	if err := listen.Serve(l.server, l.net); err != nil {
		h.failures <- fmt.Errorf("%s: %w", l.name, err)
	}
}

func (h *Host) publicHandler(cfg *config.Config, at string) (http.Handler, error) {
	o := api.PublicOptions{Providers: map[string]http.Handler{}, Ready: h.Ready, Logger: h.log}
	if h.service != nil {
		o.Hosted = h.service.handler
	}
	if h.service != nil && cfg.Service.Dashboard {
		var err error
		if o.Dashboard, err = dashboard.New(web.Files(), strings.HasPrefix(at, "https:")); err != nil {
			return nil, err
		}
	}
	bearers := api.NewBearers(config.Networks(cfg.TrustedProxies))
	for name, a := range cfg.Applications {
		if a.Default {
			o.Default = name
		}
		if !a.Provider.Opened() {
			continue // nobody could authenticate: reached by the socket only
		}
		handler, err := h.apps[name].serveWith(func(app *Application) (http.Handler, error) {
			return api.NewProviderHandler(api.ProviderOptions{
				Application: app, ApplicationID: name, Secrets: func() []string { return app.secrets.Load().all }, Limited: func() api.Limited { return app.secrets.Load().limited }, Bearers: bearers,
				AuditOptIn: a.Provider.AuditOptIn, Evaluator: app, Storage: app, OnAuthorityChanged: app.AuthorityChanged,
				Limiter: app.limiter, BodyLimit: cfg.Limits.Body, OrgSnapshotBodyLimit: cfg.Limits.OrgSnapshotBody, Logger: h.log.Named(name),
			})
		})
		if err != nil {
			return nil, fmt.Errorf("application %q: %w", name, err)
		}
		o.Providers[name] = handler
	}
	return api.NewPublicHandler(o)
}

// Address is where the public listener listens.
func (h *Host) Address() string {
	for _, l := range h.servers {
		if l.name == "listen" {
			return l.net.Addr().String()
		}
	}
	return ""
}

// OpsAddress is where the operations listener listens, "" when it is off.
func (h *Host) OpsAddress() string {
	for _, l := range h.servers {
		if l.name == "ops_listen" {
			return l.net.Addr().String()
		}
	}
	return ""
}

// Socket is the path of the local administration socket.
func (h *Host) Socket() string { return h.config.Load().Socket }

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
