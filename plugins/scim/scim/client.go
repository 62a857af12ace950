package scim

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	maxRedirects   = 3
	maxErrorBody   = 64 << 10
	maxDetail      = 200
	mediaTypes     = "application/scim+json, application/json;q=0.9"
	messageStopped = "the reading was stopped before its end"
)

// client asks one service. It is safe for concurrent use.
type client struct {
	o       checked
	service *http.Client
	tokens  *http.Client // never follows a redirect
}

func newClient(o checked) *client {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        &tls.Config{RootCAs: o.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	c := &client{o: o}
	c.service = &http.Client{Transport: transport, CheckRedirect: c.redirect}
	c.tokens = &http.Client{Transport: transport, Timeout: o.RequestTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// redirect follows within the origin of base_url only: the credentials go nowhere
// else. The answer that leads elsewhere is judged as it is.
func (c *client) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || r.URL.Scheme != c.o.base.Scheme || r.URL.Host != c.o.base.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

func (c *client) close() { c.service.CloseIdleConnections() }

// session is a client during one reading, with the token of that reading.
type session struct {
	*client
	token oauth2.TokenSource // nil without OAuth
}

func (c *client) session(ctx context.Context) *session {
	s := &session{client: c}
	if c.o.TokenURL != "" {
		config := clientcredentials.Config{ClientID: c.o.ClientID, ClientSecret: c.o.ClientSecret, TokenURL: c.o.TokenURL, Scopes: c.o.Scopes}
		s.token = config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, c.tokens))
	}
	return s
}

// answer is what get was told.
type answer struct {
	status    int // of an answer that is no success
	etag      string
	unchanged bool // what the given tag stands for is still so; nothing was decoded
}

// get asks for a path below base_url and decodes the answer; decode is called once
// for every attempt. known is an entity tag or "".
func (s *session) get(ctx context.Context, path string, query url.Values, known string, decode func(io.Reader) error) (answer, error) {
	target := s.o.base.JoinPath(path)
	target.RawQuery = query.Encode()
	return retried(ctx, int(s.o.MaxRetries), func() (answer, error) {
		return s.once(ctx, path, target, known, decode)
	})
}

func (s *session) once(ctx context.Context, path string, target *url.URL, known string, decode func(io.Reader) error) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.RequestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return answer{}, authz.Validation("%s: no request can be made of it", path)
	}
	r.Header.Set("Accept", mediaTypes)
	r.Header.Set("User-Agent", "authz-plugin-scim")
	if known != "" {
		r.Header.Set("If-None-Match", known)
	}
	if err := s.authorize(r); err != nil {
		return answer{}, err
	}
	response, err := s.service.Do(r)
	if err != nil {
		return answer{}, s.lost(path, err)
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code == http.StatusNotModified && known != "":
		return answer{etag: known, unchanged: true}, nil
	case code != http.StatusOK:
		return answer{status: code}, s.refused(path, response)
	}
	if err := wantJSON(path, response.Header.Get("Content-Type")); err != nil {
		return answer{}, err
	}
	body := &limited{r: response.Body, left: s.o.MaxResponseBytes}
	if err := decode(transform.NewReader(body, encoding.UTF8Validator)); err != nil {
		return answer{}, s.unreadable(path, err)
	}
	return answer{etag: response.Header.Get("ETag")}, nil
}

func (s *session) authorize(r *http.Request) error {
	switch {
	case s.o.Token != "":
		r.Header.Set("Authorization", "Bearer "+s.o.Token)
	case s.o.Username != "":
		r.SetBasicAuth(s.o.Username, s.o.Password)
	case s.token != nil:
		token, err := s.token.Token()
		if err != nil {
			return s.tokenRefused(err)
		}
		r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	}
	return nil
}

// tokenRefused repeats nothing of the answer but the error code that OAuth defines.
func (s *session) tokenRefused(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return s.lost(settingTokenURL, err)
	}
	code := refused.Response.StatusCode
	text := fmt.Sprintf("%s: the client gets no token (%d", settingTokenURL, code)
	if slices.Contains([]string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}, refused.ErrorCode) {
		text += ", " + refused.ErrorCode
	}
	return statusError(code, refused.Response.Header, text+")")
}

// refused reads what went wrong from an answer that is no success.
func (s *session) refused(path string, response *http.Response) error {
	code := response.StatusCode
	if code >= 300 && code < 400 {
		return authz.Validation("%s: the service sends the request elsewhere (%d, to %s), where the credentials do not go: set %s to where it is",
			path, code, spell.Quote(redirectHost(response)), settingBaseURL)
	}
	text := fmt.Sprintf("%s: the service answers %d", path, code)
	if code == http.StatusUnauthorized || code == http.StatusForbidden {
		text = fmt.Sprintf("%s: the service refuses the credentials (%d)", path, code)
	}
	var told struct {
		Detail   string `json:"detail"`
		ScimType string `json:"scimType"`
	}
	body := io.LimitReader(response.Body, maxErrorBody)
	if wantJSON(path, response.Header.Get("Content-Type")) == nil && json.NewDecoder(body).Decode(&told) == nil {
		if told.ScimType != "" {
			text += ", " + spell.EchoN(s.redact(told.ScimType), maxDetail)
		}
		if told.Detail != "" {
			text += ": " + spell.EchoN(s.redact(told.Detail), maxDetail)
		}
	}
	return statusError(code, response.Header, text)
}

func redirectHost(response *http.Response) string {
	if at, err := response.Location(); err == nil {
		return at.Scheme + "://" + at.Host
	}
	return ""
}

// redact keeps a service that repeats what it was sent from telling it to a log.
func (s *session) redact(text string) string {
	secrets := []string{s.o.Token, s.o.Password, s.o.ClientSecret}
	if s.o.Username != "" { // as basic authentication sends them
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(s.o.Username+":"+s.o.Password)))
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	if s.token != nil {
		if token, err := s.token.Token(); err == nil && token.AccessToken != "" {
			text = strings.ReplaceAll(text, token.AccessToken, "[redacted]")
		}
	}
	return text
}

func wantJSON(path, contentType string) error {
	media, _, err := mime.ParseMediaType(contentType)
	if err == nil && (media == "application/scim+json" || media == "application/json") {
		return nil
	}
	return authz.Validation("%s: the answer is %s, not SCIM: is %s right?", path, spell.Quote(contentType), settingBaseURL)
}

// reason is the text of a file's error without the path, which may be long.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

var errTooLong = errors.New("longer than the limit")

// limited fails where io.LimitReader would pretend that the answer ended.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		if n, err := l.r.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, errTooLong
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
