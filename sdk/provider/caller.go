package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Caller posts operations to one base below which /v1/{op} is served. It never
// retries and never follows a redirect.
type Caller struct {
	// Base is the absolute URL below which "/v1/{op}" is appended.
	Base string

	// Secret is sent as bearer; "" sends none.
	Secret string

	// Transport carries the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// TransportError (ProviderTransportError) says that the transport failed, as
// opposed to the far side refusing. Status is 0 when no HTTP answer arrived.
type TransportError struct {
	Message string
	Status  int
	Code    APICode
	Cause   error
}

func (e *TransportError) Error() string     { return e.Message }
func (e *TransportError) Unwrap() error     { return e.Cause }
func (e *TransportError) ErrorName() string { return "ProviderTransportError" }
func (e *TransportError) ErrorCode() string { return string(e.Code) }

// maxAnswer bounds how much of an answer is read.
const maxAnswer = 256 << 20

// Call posts params, which must marshal to a JSON object (nil means {}), and
// decodes the answer into result unless that is nil. Errors of the far side come
// back as their own classes.
func (c *Caller) Call(ctx context.Context, op string, params, result any) error {
	a, err := c.ask(ctx, op, params)
	if err != nil {
		return err
	}
	defer a.body.Close()
	members, err := a.object()
	if err != nil || result == nil {
		return err
	}
	return a.result(members, result)
}

func (a *answer) result(members json.RawMessage, result any) error {
	if err := json.Unmarshal(members, result); err != nil {
		return a.broken(fmt.Sprintf("answered %d without a usable result: %v", a.status, err), err)
	}
	return nil
}

// answer is what came back, its body still to be read.
type answer struct {
	endpoint string
	status   int
	body     io.ReadCloser
}

func (c *Caller) ask(ctx context.Context, op string, params any) (*answer, error) {
	endpoint := strings.TrimSuffix(c.Base, "/") + "/v1/" + op
	body, err := authz.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode the parameters of %s: %w", op, err)
	}
	if bytes.Equal(body, []byte("null")) {
		body = []byte("{}")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, failed(endpoint, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+c.Secret)
	}
	client := http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, failed(endpoint, err)
	}
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		_ = resp.Body.Close() // nothing of it is wanted
		err := failed(endpoint, errors.New("redirects are not followed"))
		err.Status = resp.StatusCode
		return nil, err
	}
	return &answer{endpoint: endpoint, status: resp.StatusCode, body: resp.Body}, nil
}

func (a *answer) broken(what string, cause error) *TransportError {
	return &TransportError{Status: a.status, Message: "provider call to " + a.endpoint + " " + what, Cause: cause}
}

func (a *answer) unusable(field string) *TransportError {
	return a.broken(fmt.Sprintf("answered %d without a usable %q field", a.status, field), nil)
}

func (a *answer) notJSON() *TransportError {
	return a.broken(fmt.Sprintf("answered %d with a non-JSON body", a.status), nil)
}

// object reads the whole body: a JSON object that is no error.
func (a *answer) object() (json.RawMessage, error) {
	body, err := io.ReadAll(io.LimitReader(a.body, maxAnswer+1))
	if err != nil {
		return nil, failed(a.endpoint, err)
	}
	if len(body) > maxAnswer {
		return nil, failed(a.endpoint, fmt.Errorf("the answer is larger than %d bytes", maxAnswer))
	}
	if !json.Valid(body) {
		return nil, a.notJSON()
	}
	var envelope Envelope
	if json.Unmarshal(body, &envelope) == nil && envelope.Error != nil && envelope.Error.Name != "" {
		return nil, a.raised(envelope.Error)
	}
	if a.status < 200 || a.status > 299 {
		return nil, a.broken(fmt.Sprintf("answered %d", a.status), nil)
	}
	if body = bytes.TrimSpace(body); body[0] != '{' {
		kind := "an array"
		if body[0] != '[' {
			kind = fmt.Sprintf("%.40s", body)
		}
		return nil, a.broken(fmt.Sprintf("answered %d with %s, not the JSON object the contract requires", a.status, kind), nil)
	}
	return body, nil
}

// raised is the error that the far side sent.
func (a *answer) raised(w *WireError) error {
	err := FromWireError(w)
	var api *APIError
	if errors.As(err, &api) {
		e := a.broken("was rejected by the API: "+api.Message, nil)
		e.Code = api.Code
		return e
	}
	return err
}

func failed(endpoint string, cause error) *TransportError {
	return &TransportError{Message: fmt.Sprintf("provider call to %s failed: %v", endpoint, cause), Cause: cause}
}
