package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/sdk/provider"
)

// The bounds of a listener (spec: host §1). What a handler may take is bounded
// where it runs: operationTimeout, and writeTimeout for each write of a stream.
const (
	headerTimeout  = 5 * time.Second
	bodyTimeout    = 30 * time.Second
	idleTimeout    = 120 * time.Second
	maxHeaderBlock = 16 << 10

	// maxHeaderRead is what is read of one, so that what is too large is still answered
	// as its API answers: beyond it net/http answers by itself, and HTTP/2 not at all.
	maxHeaderRead = 64 << 10
)

// ServerOptions configures one listener's server.
type ServerOptions struct {
	// Handler is served. Required.
	Handler http.Handler

	// TLS names the files to serve with, and is asked again for every look at
	// them; nil is plain HTTP.
	TLS func() TLSFiles

	// Logger takes connection errors; nil drops them.
	Logger hclog.Logger
}

// largeHeaders tells that a request's line and headers are larger than is admitted.
func largeHeaders(r *http.Request) bool {
	size := len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	return size > maxHeaderBlock
}

func errLargeHeaders() error {
	return &provider.APIError{Code: provider.PayloadTooLarge,
		Message: "the request's headers are larger than " + strconv.Itoa(maxHeaderBlock) + " bytes"}
}

// NewServer builds the server of a listener with every bound set; with TLS, its
// files are read now and must be usable. Serve runs it, its own Shutdown ends it.
// On unix sockets it notes who is at the other end.
func NewServer(o ServerOptions) (*http.Server, error) {
	if o.Handler == nil {
		return nil, errors.New("a server needs a handler")
	}
	log := orSilent(o.Logger)
	server := &http.Server{
		Handler:           readToEnd(o.Handler),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout + bodyTimeout,
		WriteTimeout:      headerTimeout + bodyTimeout + operationTimeout + writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderRead,
		ErrorLog:          log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		ConnContext:       func(ctx context.Context, conn net.Conn) context.Context { return withPeer(ctx, conn) },

		DisableGeneralOptionsHandler: true,
	}
	if o.TLS != nil {
		reloader, err := newTLSReloader(o.TLS, log)
		if err != nil {
			return nil, err
		}
		server.TLSConfig = reloader.config()
	}
	return server, nil
}

// Serve accepts connections until the server is shut down, which is no error.
func Serve(server *http.Server, listener net.Listener) error {
	var err error
	if server.TLSConfig != nil {
		err = server.ServeTLS(listener, "", "")
	} else {
		err = server.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
