package oidc

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const refetchKeys = time.Minute

// keySet is the library's. For a moment after an answer the library gives that one to
// whoever asks next, however old it is by the clock. So a token that no key verifies is
// tried again while a fetch is due, and when one began meanwhile.
type keySet struct {
	oidc.KeySet
	pace *paced
}

func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout) // whatever the library does
	defer cancel()
	for {
		before := k.pace.at.Load()
		payload, err := k.KeySet.VerifySignature(ctx, token)
		if err == nil || ctx.Err() != nil {
			return payload, err
		}
		if !k.pace.due(k.pace.clock()) && k.pace.at.Load() == before {
			return nil, err
		}
		time.Sleep(time.Millisecond) // the library puts the answer away
	}
}

// paced fetches the provider's keys at most once a minute, whatever tokens come: in
// between it repeats its last answer.
type paced struct {
	next  http.RoundTripper
	clock func() int64
	at    atomic.Int64 // when the last fetch began; 0 before the first

	mu     sync.Mutex
	status int
	header http.Header
	body   []byte
	err    error
}

func (p *paced) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock(); p.due(now) {
		p.at.Store(now)
		p.fetch(r)
	}
	if p.err != nil {
		return nil, p.err
	}
	return &http.Response{
		Status: http.StatusText(p.status), StatusCode: p.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: p.header.Clone(), Body: io.NopCloser(bytes.NewReader(p.body)), ContentLength: int64(len(p.body)), Request: r,
	}, nil
}

func (p *paced) due(now int64) bool {
	at := p.at.Load()
	return at == 0 || now-at >= refetchKeys.Milliseconds()
}

func (p *paced) fetch(r *http.Request) {
	answer, err := p.next.RoundTrip(r)
	if p.err = err; err != nil {
		return
	}
	defer answer.Body.Close()
	p.status, p.header = answer.StatusCode, answer.Header
	p.body, p.err = io.ReadAll(answer.Body)
}
