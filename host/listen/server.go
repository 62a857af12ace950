package listen

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
)

// The bounds of a listener (spec: host §1).
const (
	HeaderTimeout = 5 * time.Second
	BodyTimeout   = 30 * time.Second

	// UnreadTimeout bounds the reading of what a handler left of a body over HTTP/2.
	UnreadTimeout = 5 * time.Second

	// WorkTimeout bounds what a handler does before it answers. Handlers keep it.
	WorkTimeout = 30 * time.Second

	// WriteTimeout bounds each write to a connection. Handlers that write more than
	// once set it anew: a reader that stalls loses the connection, one that goes on
	// reading may take as long as its answer is.
	WriteTimeout = 30 * time.Second

	// MaxHeaders is how many bytes of headers a request may have. Handlers refuse
	// more, so that it is answered as their API answers.
	MaxHeaders = 16 << 10

	idleTimeout = 120 * time.Second

	// maxHeaderRead is what is read of headers. Beyond it net/http answers by itself,
	// and HTTP/2 not at all.
	maxHeaderRead = 64 << 10
)

// HeaderSize is how many bytes headers take.
func HeaderSize(h http.Header) int {
	size := 0
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	return size
}

// ServerOptions configures one listener's server.
type ServerOptions struct {
	// Handler is served. Required.
	Handler http.Handler

	// TLS names the files to serve with, and is asked again for every look at
	// them; nil is plain HTTP.
	TLS func() TLSFiles

	// Certificate hears which certificate is shown from now on, at first and after each
	// reload; nil is not told.
	Certificate func(*x509.Certificate)

	// Unread bounds the reading of what a handler left of a body; 0 is UnreadTimeout.
	Unread time.Duration

	// Logger takes connection errors; nil drops them.
	Logger hclog.Logger
}

// NewServer builds the server of a listener with every bound set; with TLS, its
// files are read now and must be usable. Serve runs it, its own Shutdown ends it.
// On unix sockets it notes who is at the other end.
func NewServer(o ServerOptions) (*http.Server, error) {
	if o.Handler == nil {
		return nil, errors.New("a server needs a handler")
	}
	log := o.Logger
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if o.Unread == 0 {
		o.Unread = UnreadTimeout
	}
	server := &http.Server{
		Handler:           readToEnd(o.Handler, o.Unread),
		ReadHeaderTimeout: HeaderTimeout,
		ReadTimeout:       HeaderTimeout + BodyTimeout,
		WriteTimeout:      HeaderTimeout + BodyTimeout + WorkTimeout + WriteTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderRead,
		ErrorLog:          log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		ConnContext:       withPeer,

		DisableGeneralOptionsHandler: true,
	}
	if o.TLS != nil {
		reloader, err := newTLSReloader(o, log)
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
