package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

// exchange is one attempt to ask: what bounds it, and how far it came.
type exchange struct {
	limit int64 // bytes of the answer
	plain bool  // over http, so to loopback only

	sent   atomic.Bool  // there was a connection: the request may have arrived
	begun  atomic.Bool  // something came back
	status atomic.Int32 // of the answer
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

var (
	errTooLarge = errors.New("the answer is too large")
	errConnect  = errors.New("the connection took too long")
)

// transport carries requests under the rules of addresses. No proxy is asked and
// nothing is decompressed.
type transport struct {
	base    *http.Transport
	connect time.Duration
}

func (r *Relay) newTransport(o Options) *transport {
	return &transport{connect: r.times.Connect, base: &http.Transport{
		DialContext:            r.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        time.Minute,
	}}
}

// dial resolves the name once, and connects to an address that was judged: the
// name is left for TLS and Host.
func (r *Relay) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.times.Connect)
	defer cancel()
	x := exchangeOf(ctx)
	if x == nil {
		return nil, errors.New("a connection outside of an exchange")
	}
	addresses, err := r.resolve(ctx, host, uint16(port), x.plain)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	for _, a := range addresses {
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, network, a.String()); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchangeOf(req.Context())
	if x == nil {
		return nil, errors.New("a request outside of an exchange")
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	late := time.AfterFunc(t.connect, func() { cancel(errConnect) })
	trace := &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { late.Stop(); x.sent.Store(true) },
		GotFirstResponseByte: func() { x.begun.Store(true) },
	}
	resp, err := t.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	late.Stop()
	if err != nil {
		cancel(nil)
		return nil, err
	}
	x.status.Store(int32(resp.StatusCode))
	resp.Body = &body{ReadCloser: resp.Body, left: x.limit, done: func() { cancel(nil) }}
	return resp, nil
}

// body lets no more than left bytes through.
type body struct {
	io.ReadCloser
	left int64
	done func()
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, fmt.Errorf("%w: more than what is read of one", errTooLarge)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
