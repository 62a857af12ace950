package hostedclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// timeout bounds one request and its answer, unless Client.Patience does.
const timeout = 35 * time.Second

// MaxAnswer bounds how much of an answer is read.
const MaxAnswer = 64 << 20

// Client asks the hosted API of one org. It never repeats a request and never
// follows a redirect, which could carry the key elsewhere.
type Client struct {
	URL       string // of the host, without /api/v1
	Org       string // "" asks what lies below no org
	Token     string
	App       string // what the endpoints of one application are asked about
	UserAgent string
	Transport http.RoundTripper // nil means http.DefaultTransport
	Patience  time.Duration     // bounds one request and its answer; 0 is 35 s

	// Warn takes what an answer warns of or had to leave out; nil tells nobody.
	Warn func(text string)
}

// OfNoOrg asks what lies below no org.
func (c *Client) OfNoOrg() *Client {
	none := *c
	none.Org = ""
	return &none
}

// Ask sends one request below /orgs/{org}; path is not escaped yet. A nil body
// sends none, a nil result wants none. Values of query print as the wire has them.
func (c *Client) Ask(ctx context.Context, method string, path []string, query map[string]any, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Patience, timeout))
	defer cancel()
	req, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	answer, err := c.do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, MaxAnswer+1))
	if err != nil {
		return &provider.TransportError{Message: fmt.Sprintf("the answer of %s broke off: %v", c.URL, err), Cause: err}
	}
	switch {
	case len(text) > MaxAnswer:
		return fmt.Errorf("the answer of %s is larger than %d bytes", c.URL, MaxAnswer)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return c.refusal(answer.StatusCode, text)
	case result == nil || answer.StatusCode == http.StatusNoContent:
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("%s answered %d without a usable result: %w", req.URL.Redacted(), answer.StatusCode, err)
	}
	if c.Warn != nil {
		var told struct{ Warnings []string }
		_ = json.Unmarshal(text, &told) // most answers have none
		for _, w := range told.Warnings {
			c.Warn(w)
		}
	}
	return nil
}

func (c *Client) request(ctx context.Context, method string, path []string, query map[string]any, body any) (*http.Request, error) {
	target := c.URL + "/api/v1"
	if c.Org != "" {
		target += "/orgs"
		path = append([]string{c.Org}, path...)
	}
	for _, segment := range path {
		if segment == "" || segment == "." || segment == ".." || strings.Contains(segment, "/") {
			return nil, misuse("%q cannot be named over the hosted API: it must not be empty, . or .., nor hold a /", segment)
		}
		target += "/" + url.PathEscape(segment)
	}
	if len(query) > 0 {
		q := url.Values{}
		for name, v := range query {
			q.Set(name, fmt.Sprint(v))
		}
		target += "?" + q.Encode()
	}
	var in io.Reader
	if body != nil {
		text, err := authz.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, in)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("User-Agent", c.UserAgent)
	return req, nil
}

func (c *Client) do(req *http.Request) (*http.Response, error) {
	unredirected := http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := unredirected.Do(req)
	if err != nil {
		return nil, &provider.TransportError{Message: fmt.Sprintf("%s cannot be asked: %v", c.URL, errors.Unwrap(err)), Cause: err}
	}
	return answer, nil
}
