package upload

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
)

type overHTTP struct {
	client  *http.Client
	url     string
	headers http.Header
}

// OverHTTP posts to a URL, one for each signal. No redirect is followed: headers are
// for that URL. Config and headers may be nil.
func OverHTTP(target string, config *tls.Config, headers http.Header) (Uploader, error) {
	if u, err := url.Parse(target); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the collector's address is no http or https URL")
	}
	headers = headers.Clone()
	if headers == nil {
		headers = http.Header{}
	}
	headers.Set("Content-Type", "application/x-protobuf")
	return &overHTTP{url: target, headers: headers, client: &http.Client{
		Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConns: 4, MaxIdleConnsPerHost: 4, IdleConnTimeout: 2 * time.Minute,
			TLSHandshakeTimeout: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (u *overHTTP) Close() error {
	u.client.CloseIdleConnections()
	return nil
}

func (u *overHTTP) Upload(ctx context.Context, _ Signal, m proto.Message) (Partial, error) {
	body, err := proto.Marshal(m)
	if err != nil {
		return Partial{}, &Error{Reason: "the message cannot be encoded", Untaken: true, Invalid: true}
	}
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(body))
	if err != nil {
		return Partial{}, &Error{Reason: "the request cannot be made", Untaken: true}
	}
	request.Header = u.headers.Clone()
	response, err := u.client.Do(request)
	if err != nil {
		var about *url.Error
		if errors.As(err, &about) {
			err = about.Err // without the URL
		}
		if sent.Load() {
			return Partial{}, &Error{Reason: "the collector did not answer", Retry: true}
		}
		return Partial{}, &Error{Reason: fmt.Sprintf("the collector was not reached: %v", err), Untaken: true, Retry: true}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 == 2 {
		if err != nil {
			answer = nil // it was taken; what else it said is lost
		}
		return partial(answer), nil
	}
	e := &Error{Reason: "the collector answered with status " + strconv.Itoa(response.StatusCode)}
	switch code := response.StatusCode; code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Untaken, e.Retry = true, true
		if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16); err == nil {
			e.After = time.Duration(seconds) * time.Second
		}
	case http.StatusBadGateway, http.StatusGatewayTimeout: // a proxy's: who knows what is behind it
		e.Retry = true
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		e.Untaken, e.Invalid = true, true
	default:
		e.Untaken = code < 500
	}
	return Partial{}, e
}
