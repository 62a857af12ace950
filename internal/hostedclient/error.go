package hostedclient

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/provider"
)

// Error is an error that the hosted API answered (spec: hosted-api §6). It unwraps to
// the class that other ways to an application return for it.
type Error struct {
	Status                         int
	Name, Code, Message, RequestID string
	Outcome, Application           string
	Issues                         []struct{ Path, Message string }
	Missing                        []struct{ Key, Scope string }
	RetryAfterMs                   int64

	class error
}

func (e *Error) Unwrap() error { return e.class }

// Error is what the far side says, which must not move a terminal's cursor.
func (e *Error) Error() string {
	said := e.Message
	for _, i := range e.Issues[min(1, len(e.Issues)):] { // the message tells the first
		said += "; " + i.Path + ": " + i.Message
	}
	for _, m := range e.Missing {
		said += "; missing: " + m.Key + " at " + m.Scope
	}
	if e.Code != "" {
		said += " (" + e.Code + ")"
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		said += ", request " + e.RequestID
	}
	return spell.EchoN(said, math.MaxInt32)
}

// UsageError says that the request cannot be made as it was given, or that the
// address is not one of the hosted API.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

func misuse(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// refusal reads an answer that is an error.
func (c *Client) refusal(status int, text []byte) error {
	var envelope struct {
		Error json.RawMessage `json:"error"`
	}
	e := &Error{}
	_ = json.Unmarshal(text, &envelope)
	_ = json.Unmarshal(envelope.Error, e) // whatever its fields are, an error has a name
	if e.Name == "" {
		return misuse("%s answered %d, and not as the hosted API does: --url must be the address of a host that serves it, without /api/v1", c.URL, status)
	}
	e.Status = status
	// The structured fields stand flat in the envelope, where the provider's wire
	// has them under detail.
	e.class = provider.FromWireError(&provider.WireError{Name: e.Name, Code: e.Code, Message: e.Message, Detail: envelope.Error})
	return e
}
