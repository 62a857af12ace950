package telemetry

import (
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/api"
)

// AccessLog writes one line a request, in the shape of the host's other lines. It
// is written out instead of taken from the logger because it runs in every
// request: a line costs no allocation, and lines are put together for the
// system's writes.
type AccessLog struct {
	to   io.Writer
	json bool
	on   func() bool

	mu      sync.Mutex
	lines   []byte // not written yet
	pending bool   // somebody will write them
	second  second
	writing sync.Mutex
	spare   []byte // of writing
}

const (
	// linger is how long lines may wait to be written together.
	linger = 100 * time.Millisecond

	// fullBuffer is when they no longer wait; whoever adds the line that fills it
	// writes, so that a slow log slows down and never loses lines.
	fullBuffer = 64 << 10

	// maxPath bounds the path in a line, in bytes.
	maxPath = 512
)

// NewAccessLog writes to a writer that takes whole lines, while on is true.
func NewAccessLog(to io.Writer, jsonFormat bool, on func() bool) *AccessLog {
	return &AccessLog{to: to, json: jsonFormat, on: on}
}

// Answered writes the line of a request: never its body, a header, or its query.
func (l *AccessLog) Answered(a *api.Answered) {
	if !l.on() {
		return
	}
	l.mu.Lock()
	if l.json {
		l.lines = l.appendJSONLine(l.lines, a)
	} else {
		l.lines = appendTextLine(l.lines, a)
	}
	full := len(l.lines) >= fullBuffer
	first := !l.pending
	l.pending = true
	l.mu.Unlock()
	switch {
	case full:
		l.Flush()
	case first:
		time.AfterFunc(linger, l.Flush)
	}
}

// Flush writes what waits.
func (l *AccessLog) Flush() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.lines, l.spare = l.spare[:0], l.lines
	l.pending = false
	l.mu.Unlock()
	if len(l.spare) > 0 {
		_, _ = l.to.Write(l.spare) // there is no other place to complain in
	}
}

func (l *AccessLog) appendJSONLine(b []byte, a *api.Answered) []byte {
	b = append(b, `{"@level":"info","@message":"request","@module":"authz.access","@timestamp":"`...)
	b = l.second.append(b, a.Began)
	b = append(b, '"')
	b = appendMember(b, "method", a.Method)
	b = appendMember(b, "path", bounded(a.Path))
	b = appendMember(b, "app", a.Application)
	b = appendMember(b, "op", a.Operation)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(a.Status), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, a.Bytes, 10)
	b = append(b, `,"duration_ms":`...)
	b = appendMillis(b, a.Took)
	b = appendMember(b, "request_id", a.RequestID)
	b = appendMember(b, "remote", a.Remote)
	if a.Aborted {
		b = append(b, `,"aborted":true`...)
	}
	return append(b, "}\n"...)
}

// second is the last second that was formatted: what changes between two lines is
// the fraction.
type second struct {
	unix       int64
	head, tail []byte // around six digits
}

// append renders as hclog.TimeFormatJSON.
func (s *second) append(b []byte, at time.Time) []byte {
	if unix := at.Unix(); unix != s.unix || s.head == nil {
		s.unix = unix
		s.head = at.AppendFormat(s.head[:0], "2006-01-02T15:04:05.")
		s.tail = at.AppendFormat(s.tail[:0], "Z07:00")
	}
	b = append(b, s.head...)
	for digit, micros := 100_000, at.Nanosecond()/1000; digit > 0; digit /= 10 {
		b = append(b, byte('0'+micros/digit%10))
	}
	return append(b, s.tail...)
}

// appendTextLine renders as hclog does.
func appendTextLine(b []byte, a *api.Answered) []byte {
	b = a.Began.AppendFormat(b, hclog.TimeFormat)
	b = append(b, " [INFO]  authz.access: request:"...)
	b = appendPair(b, "method", a.Method)
	b = appendPair(b, "path", bounded(a.Path))
	b = appendPair(b, "app", a.Application)
	b = appendPair(b, "op", a.Operation)
	b = append(b, " status="...)
	b = strconv.AppendInt(b, int64(a.Status), 10)
	b = append(b, " bytes="...)
	b = strconv.AppendInt(b, a.Bytes, 10)
	b = append(b, " duration_ms="...)
	b = appendMillis(b, a.Took)
	b = appendPair(b, "request_id", a.RequestID)
	b = appendPair(b, "remote", a.Remote)
	if a.Aborted {
		b = append(b, " aborted=true"...)
	}
	return append(b, '\n')
}

func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d.Microseconds())/1000, 'f', 3, 64)
}

func bounded(path string) string {
	if len(path) > maxPath {
		return path[:maxPath]
	}
	return path
}

func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	if plain(value, false) {
		return append(append(append(b, '"'), value...), '"')
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, quoted...)
}

func appendPair(b []byte, name, value string) []byte {
	b = append(append(append(b, ' '), name...), '=')
	if value == "" {
		return append(b, `""`...)
	}
	if plain(value, true) {
		return append(b, value...)
	}
	return strconv.AppendQuote(b, value)
}

// plain reports that text may stand in a line as it is.
func plain(s string, unquoted bool) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' && (unquoted || c < ' ') || c == '"' || c == '\\' || c >= 0x7f || unquoted && c == '=' {
			return false
		}
	}
	return true
}
