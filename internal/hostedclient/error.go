package hostedclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Error is an error that the hosted API answered (spec: hosted-api §6). It unwraps to
// the class that other ways to an application return for it.
type Error struct {
	Status                         int
	Name, Code, Message, RequestID string
	Outcome, Application           string
	From, PrimaryApplication       string          // of a state that does not take the call
	Operation                      json.RawMessage // a text: what was asked; an object: the move that is under way
	Namespaces, Members            []string
	Issues                         []struct{ Path, Message string }
	Missing                        []struct{ Key, Scope string }
	RetryAfterMs                   int64

	// Of a denial: whom, and what they lack.
	Permission, Scope string
	Principal         authz.Principal

	By *Client `json:"-"` // who asked

	class error
}

func (e *Error) Unwrap() error { return e.class }

// GoesOn reports that a move of the organization is under way, whatever became of this call.
func (e *Error) GoesOn() bool { return bytes.HasPrefix(e.Operation, []byte("{")) }

// Error is what the far side says, which must not move a terminal's cursor.
func (e *Error) Error() string {
	said := e.Message
	for _, i := range e.Issues[min(1, len(e.Issues)):] { // the message tells the first
		said += "; " + i.Path + ": " + i.Message
	}
	for _, m := range e.Missing {
		said += "; missing: " + m.Key + " at " + m.Scope
	}
	for what, named := range map[string][]string{"namespaces": e.Namespaces, "members": e.Members} { // never both
		if len(named) > 0 {
			said += "; " + what + ": " + strings.Join(named, ", ")
		}
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
	e := &Error{By: c}
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
