package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/internal/request"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/sdk/provider"
)

// maxNesting bounds how deep objects and lists of a body may nest.
const maxNesting = 100

func badRequest() error {
	return &provider.APIError{Code: provider.BadRequest,
		Message: "the request body must be a JSON object of the operation's named parameters"}
}

// readBody reads at most limit bytes, whatever Content-Length promises. The time
// for it is the server's ReadTimeout: left standing (mayTakeLong), it would cancel
// the context of a stream that takes longer, or of an operation whose body came
// late. It stands while part of the body is to come, for which net/http waits
// after the answer.
func (x *exchange) readBody(limit int64) ([]byte, error) {
	x.body, _ = bodies.Get().(*bytes.Buffer)
	if x.body == nil {
		x.body = new(bytes.Buffer)
	}
	x.body.Grow(int(min(max(x.r.ContentLength, 0), limit, maxPromise)) + bytes.MinRead)
	var from io.Reader = x.r.Body
	if x.r.ContentLength < 0 || x.r.ContentLength > limit { // else net/http reads no further than that
		from = http.MaxBytesReader(unwatched(x.w), x.r.Body, limit)
	}
	_, err := x.body.ReadFrom(from)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &provider.APIError{Code: provider.PayloadTooLarge,
			Message: "the request body is larger than " + strconv.FormatInt(limit, 10) + " bytes"}
	case err != nil:
		return nil, badRequest() // cut off or too slow: no body anybody could read
	}
	return x.body.Bytes(), nil
}

// bodies are buffers of bodies of which nothing is held any more.
var bodies sync.Pool

// dropBody gives the buffer back once nothing refers to the body.
func (x *exchange) dropBody() {
	if x.body.Cap() > maxPromise {
		return
	}
	x.body.Reset()
	bodies.Put(x.body)
	x.body = nil
}

// maxPromise is how much is set aside for a body before any of it has come.
const maxPromise = 128 << 10

// mayTakeLong ends the time for the body, which is read.
func (x *exchange) mayTakeLong() {
	_ = x.out.control.SetReadDeadline(time.Time{}) // without a connection there is nothing to clear
}

// quickBody says that the body came so soon that its time, of which net/http's
// timers cost as much as a warm check, cannot end before an operation that takes
// no longer than quickOperation. The headers may have taken all of their time.
func (x *exchange) quickBody() bool {
	seen, ok := x.w.(*watched)
	return ok && time.Since(seen.Began) < quickly
}

// runQuick carries out what a quick reader read.
func (x *exchange) runQuick(e entry, act action, limiter *admission.Limiter) (any, error) {
	x.dropBody()
	if x.out.soon = x.quickBody(); x.out.soon {
		e.within = quickOperation
	} else {
		x.mayTakeLong()
	}
	if err := x.admit(e, limiter, 0); err != nil {
		return nil, err
	}
	return e.do(x.r.Context(), act)
}

const (
	quickly        = 4 * time.Second
	quickOperation = listen.BodyTimeout - quickly - time.Second
)

// readMembers reads the body and the parameters in it.
func (x *exchange) readMembers(limit int64) (map[string]json.RawMessage, error) {
	body, err := x.readBody(limit)
	if err != nil {
		return nil, err
	}
	x.mayTakeLong()
	return parseBody(body)
}

// parseBody reads the members of the one JSON object that a body must be. An
// empty body is an object without members; of duplicate members the last counts.
func parseBody(body []byte) (map[string]json.RawMessage, error) {
	if len(body) == 0 {
		return nil, nil
	}
	if !utf8.Valid(body) || request.LoneSurrogate(body) || nestsTooDeep(body) {
		return nil, badRequest()
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, badRequest()
	}
	return members, nil
}

// nestsTooDeep reports that text nests deeper than maxNesting. The grammar itself is
// left to encoding/json.
func nestsTooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxNesting {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			i = endOfString(text, i+1)
		}
	}
	return false
}

// endOfString is the index of the quote that ends the string beginning at i.
func endOfString(text []byte, i int) int {
	for i < len(text) && text[i] != '"' {
		if text[i] == '\\' {
			i++
		}
		i++
	}
	return i
}
