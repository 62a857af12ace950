package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// hosted asks the hosted API of one org (hosted-api.md). It never repeats a
// request and never follows a redirect, which could carry the key elsewhere.
type hosted struct {
	url, org, token string
	app             string    // --app: what the endpoints of one application are asked about
	warn            io.Writer // what an answer warns of or had to leave out; nil tells nobody
	over            http.RoundTripper
}

// fields that select, as the query of a request. Values print as the wire has them.
func (f fields) query() url.Values {
	q := url.Values{}
	for name, v := range f {
		q.Set(name, fmt.Sprint(v))
	}
	return q
}

// maxHosted bounds how much of an answer is read.
const maxHosted = 64 << 20

// ofNoOrg asks what lies below no org.
func (h *hosted) ofNoOrg() *hosted {
	none := *h
	none.org = ""
	return &none
}

// ask sends one request below /orgs/{org}; path is not escaped yet. A nil body
// sends none, a nil result wants none.
func (h *hosted) ask(ctx context.Context, method string, path []string, query fields, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := h.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	answer, err := unredirected(h.over).Do(req)
	if err != nil {
		return &provider.TransportError{Message: fmt.Sprintf("%s cannot be asked: %v", h.url, errors.Unwrap(err)), Cause: err}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHosted+1))
	if err != nil {
		return &provider.TransportError{Message: fmt.Sprintf("the answer of %s broke off: %v", h.url, err), Cause: err}
	}
	switch {
	case len(text) > maxHosted:
		return fmt.Errorf("the answer of %s is larger than %d bytes", h.url, maxHosted)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return failedHosted(h.url, answer, text)
	case result == nil || answer.StatusCode == http.StatusNoContent:
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("%s answered %d without a usable result: %w", req.URL.Redacted(), answer.StatusCode, err)
	}
	if h.warn != nil {
		var told struct{ Warnings []string }
		_ = json.Unmarshal(text, &told) // most answers have none
		for _, w := range told.Warnings {
			fmt.Fprintln(h.warn, "warning: "+plain(w))
		}
	}
	return nil
}

func (h *hosted) request(ctx context.Context, method string, path []string, query fields, body any) (*http.Request, error) {
	target := h.url + "/api/v1"
	if h.org != "" {
		target += "/orgs"
		path = append([]string{h.org}, path...)
	}
	for _, segment := range path {
		if segment == "" || segment == "." || segment == ".." || strings.Contains(segment, "/") {
			return nil, usageError{fmt.Errorf("%q cannot be named over the hosted API: it must not be empty, . or .., nor hold a /", segment)}
		}
		target += "/" + url.PathEscape(segment)
	}
	if len(query) > 0 {
		target += "?" + query.query().Encode()
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
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("User-Agent", "authz-cli/"+version)
	return req, nil
}

// page asks for a page of a list and tells the cursor of the next, "" after the
// last.
func (h *hosted) page(ctx context.Context, path []string, query fields) (members map[string]json.RawMessage, next string, err error) {
	if err := h.ask(ctx, http.MethodGet, path, query, nil, &members); err != nil {
		return nil, "", err
	}
	if text, ok := members["nextCursor"]; ok {
		var cursor *string
		if err := json.Unmarshal(text, &cursor); err != nil {
			return nil, "", fmt.Errorf("%s answered without a usable nextCursor: %w", h.url, err)
		}
		if cursor != nil {
			next = *cursor
		}
	}
	return members, next, h.incomplete(members["unavailable"])
}

// incomplete tells which sources are missing from a list: it must not pass for
// the whole.
func (h *hosted) incomplete(text json.RawMessage) error {
	if text == nil || h.warn == nil {
		return nil
	}
	var missing []struct{ Application, Code string }
	if err := json.Unmarshal(text, &missing); err != nil {
		return fmt.Errorf("%s answered without a usable list of what is missing: %w", h.url, err)
	}
	for _, m := range missing {
		fmt.Fprintf(h.warn, "warning: what %s has is missing: %s\n", plain(m.Application), plain(m.Code))
	}
	return nil
}

// rows calls row for the rows of a list, or its first ones. A limit of 0 is none.
func rows[T any](ctx context.Context, h *hosted, path []string, name string, query fields, limit int, row func(T) error) error {
	return paged(query, limit, row, func(asked fields) ([]T, bool, error) {
		members, next, err := h.page(ctx, path, asked)
		if err != nil {
			return nil, false, err
		}
		asked["cursor"] = next
		found, err := member[T](h.url, members, name)
		return found, next != "", err
	})
}

// hostedError is an error that the hosted API answered (hosted-api.md §6). It
// unwraps to the class that other ways to an application return for it.
type hostedError struct {
	Status                         int
	Name, Code, Message, RequestID string
	Outcome, Application           string
	Issues                         []struct{ Path, Message string }
	Missing                        []struct{ Key, Scope string }
	RetryAfterMs                   int64

	class error
}

func (e *hostedError) Unwrap() error { return e.class }

// Error is what the far side says, which must not move a terminal's cursor.
func (e *hostedError) Error() string {
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
	return plain(said)
}

func failedHosted(base string, answer *http.Response, text []byte) error {
	var envelope struct {
		Error json.RawMessage `json:"error"`
	}
	e := &hostedError{}
	_ = json.Unmarshal(text, &envelope)
	_ = json.Unmarshal(envelope.Error, e) // whatever its fields are, an error has a name
	if e.Name == "" {
		return usageError{fmt.Errorf("%s answered %d, and not as the hosted API does: --url must be the address of a host that serves it, without /api/v1", base, answer.StatusCode)}
	}
	e.Status = answer.StatusCode
	// The structured fields stand flat in the envelope, where the provider's wire
	// has them under detail.
	e.class = provider.FromWireError(&provider.WireError{Name: e.Name, Code: e.Code, Message: e.Message, Detail: envelope.Error})
	return e
}

// next says what to do about an error of the hosted API, "" when its text does.
func (e *hostedError) next() string {
	for codes, advice := range hostedAdvice {
		if slices.Contains(strings.Fields(codes), e.Code) {
			return advice
		}
	}
	switch {
	case e.Name == "UnknownPermissionError":
		return "The hosted API knows the permissions of an application that has published its catalog: 'authz catalog publish'."
	case e.Code == "rate_limited":
		return fmt.Sprintf("Wait %s, then repeat it.", time.Duration(max(e.RetryAfterMs, 1000))*time.Millisecond)
	case e.Name == "ProviderTransportError" && e.Outcome == "unknown":
		return fmt.Sprintf("Whether it was applied is not known: look before you repeat it. 'authz application probe %s' shows how the application is.", e.Application)
	case e.Name == "ProviderTransportError":
		return fmt.Sprintf("Nothing was changed. 'authz application probe %s' shows how the application is.", e.Application)
	}
	return ""
}

// hostedAdvice is by codes.
var hostedAdvice = map[string]string{
	"credential_missing credential_invalid": "The key is unknown, revoked or expired. Run 'authz login' with another; any administrator can see the keys with 'authz key list'.",
	"credential_not_allowed":                "This takes an admin key, or somebody who signs in with a browser.",
	"org_not_found":                         "A key works in its own org only: 'authz org list' shows the orgs that you are logged in to.",
	"seat_required":                         "An owner invites you with 'authz seat invite'.",
	"owner_required":                        "An owner has to do this: 'authz seat list --kind owner' shows who is one.",
	"forbidden inactive":                    "'authz whoami' shows what you may do.",
	"escalation_refused":                    "Nobody gives what they do not hold: 'authz whoami' shows what you do.",
	"last_owner":                            "Make another owner who can act first: 'authz seat update USER --kind owner'.",
	"seat_not_found":                        "'authz seat list' shows those there are.",
	"api_key_not_found":                     "'authz key list' shows those there are.",
	"application_not_found":                 "'authz application list' shows those there are.",
	"dimension_not_found cap_reached":       "'authz billing usage' shows every meter with its cap.",
	"not_linked no_org_root":                "'authz application link APP URL' links one.",
	"application_mismatch":                  "An entry is linked to the application of its own id, local:NAME too: 'authz application probe APP' shows which one answers.",
	"probe_failed":                          "'authz application probe APP' shows what it answers.",
	"proof_required":                        "Sign in again in the browser, or use an admin key: 'authz login' keeps one, and a key needs no recent sign-in.",
	"org_root_moving operation_in_progress": "Wait until it is done, then repeat it.",
	"relay_url_rejected":                    "It takes https at a public address, or local:NAME with the entry's own id; the host's operator may allow more in service.relay.",
	"precondition_failed invalid_cursor":    "Something changed meanwhile: run it again.",
	"not_found":                             "The lists of the same command show those there are.",
	"storage_unavailable":                   "Try again in a moment. The host's operator sees why with 'authz storage status'.",
	"internal":                              "The host's log tells more about this request.",
}
