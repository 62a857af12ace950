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
func (x *exchange) runQuick(e entry, act action, gates *admission.Gates) (any, error) {
	x.dropBody()
	if x.out.soon = x.quickBody(); x.out.soon {
		e.within = quickOperation
	} else {
		x.mayTakeLong()
	}
	if err := x.admit(e, gates, 0); err != nil {
		return nil, err
	}
	return e.do(x.r.Context(), act)
}

const (
	quickly        = 4 * time.Second
	quickOperation = bodyTimeout - quickly - time.Second
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
	if !utf8.Valid(body) || !readable(body) {
		return nil, badRequest()
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, badRequest()
	}
	return members, nil
}

// readable reports that text nests no deeper than maxNesting and that the
// escapes in its strings spell whole characters: half a surrogate pair would be
// read as U+FFFD, another string than the one that was sent. The grammar itself
// is left to encoding/json.
func readable(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxNesting {
				return false
			}
		case '}', ']':
			depth--
		case '"':
			end, ok := scanString(text, i+1)
			if !ok {
				return false
			}
			i = end
		}
	}
	return true
}

// scanString returns the index of the quote that ends the string beginning at i.
func scanString(text []byte, i int) (end int, ok bool) {
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i, true
		case '\\':
			unit := escapedUnit(text[i:])
			switch {
			case unit < surrogateMin || unit > surrogateMax:
				i++
			case unit < surrogateLow:
				low := rune(-1)
				if len(text) > i+6 {
					low = escapedUnit(text[i+6:])
				}
				if low < surrogateLow || low > surrogateMax {
					return i, false
				}
				i += 11
			default:
				return i, false
			}
		}
	}
	return i, false
}

// The UTF-16 surrogates; from surrogateLow on they are second halves.
const (
	surrogateMin = 0xd800
	surrogateLow = 0xdc00
	surrogateMax = 0xdfff
)

// escapedUnit reads a leading \uXXXX; -1 when text begins otherwise.
func escapedUnit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
