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
	endpoint := strings.TrimSuffix(c.Base, "/") + "/v1/" + op
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode the parameters of %s: %w", op, err)
	}
	if bytes.Equal(body, []byte("null")) {
		body = []byte("{}")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return failed(endpoint, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+c.Secret)
	}
	client := http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("redirects are not followed")
	}}
	resp, err := client.Do(req)
	if err != nil {
		return failed(endpoint, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return failed(endpoint, err)
	}
	if len(answer) > maxAnswer {
		return failed(endpoint, fmt.Errorf("the answer is larger than %d bytes", maxAnswer))
	}
	return decodeAnswer(endpoint, resp.StatusCode, answer, result)
}

func decodeAnswer(endpoint string, status int, answer []byte, result any) error {
	at := "provider call to " + endpoint + " "
	if !json.Valid(answer) {
		return &TransportError{Status: status, Message: fmt.Sprintf("%sanswered %d with a non-JSON body", at, status)}
	}
	var envelope Envelope
	if json.Unmarshal(answer, &envelope) == nil && envelope.Error != nil && envelope.Error.Name != "" {
		err := FromWireError(envelope.Error)
		var api *APIError
		if errors.As(err, &api) {
			return &TransportError{Status: status, Code: api.Code, Message: at + "was rejected by the API: " + api.Message}
		}
		return err
	}
	if status < 200 || status > 299 {
		return &TransportError{Status: status, Message: fmt.Sprintf("%sanswered %d", at, status)}
	}
	if trimmed := bytes.TrimSpace(answer); trimmed[0] != '{' {
		return &TransportError{Status: status,
			Message: fmt.Sprintf("%sanswered %d with %.40s, not the JSON object the contract requires", at, status, trimmed)}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return &TransportError{Status: status, Cause: err,
			Message: fmt.Sprintf("%sanswered %d without a usable result: %v", at, status, err)}
	}
	return nil
}

func failed(endpoint string, cause error) *TransportError {
	return &TransportError{Message: fmt.Sprintf("provider call to %s failed: %v", endpoint, cause), Cause: cause}
}
