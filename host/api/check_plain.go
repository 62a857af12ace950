package api

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// This file is a second reader of check's body. A warm check costs less than
// encoding/json needs to read one: by the general reader a check through the handler
// takes 5 to 6 times as long (11 to 12 µs instead of 2) and 54 allocations instead of 9,
// a batch 15 times as long (BenchmarkCheck).
//
// It reads the spelling in which nearly every check comes, and says no to all others:
// known members only, each once, strings of printable ASCII without escapes. The
// general reader judges everything that is refused here; a property holds the two to
// the same answers.

// plainQuestion is a question that comes without an allocation for its key.
type plainQuestion struct {
	provider.Question
	key [1]string
}

// plainCheck is the quick reader of check.
func plainCheck(x *exchange, body []byte, t *target) action {
	if t.evaluator == nil {
		return nil
	}
	p := plainText{b: body}
	if !p.next('{') {
		return nil
	}
	if name, ok := p.text(); ok && string(name) == "checks" {
		many, ok := p.batch()
		if !ok || !p.next('}') || !p.ended() {
			return nil
		}
		return func(ctx context.Context) (any, error) {
			return askAll(ctx, t.evaluator, len(many), func(i int) (*provider.Question, error) { return &many[i], nil })
		}
	}
	p.i = 0
	if !p.question(&x.asked.Question, x.asked.key[:]) || !p.ended() {
		return nil
	}
	return func(ctx context.Context) (any, error) {
		allowed, err := ask(ctx, t.evaluator, &x.asked.Question)
		return answerOf(allowed), err
	}
}

// maxPlain bounds a question that is read here: its strings are cut from one text,
// which a cache may keep for any of them.
const maxPlain = 2048

func (p *plainText) batch() ([]provider.Question, bool) {
	if !p.next(':') || !p.next('[') {
		return nil, false
	}
	room := min(provider.MaxChecks, len(p.b)/38+1) // which one takes at least
	many, keys := make([]provider.Question, 0, room), make([]string, room)
	for {
		n := len(many)
		if n == room {
			return nil, false
		}
		many = append(many, provider.Question{})
		if !p.question(&many[n], keys[n:n+1:n+1]) {
			return nil, false
		}
		if !p.next(',') {
			return many, p.next(']')
		}
	}
}

// plainText is a text being read.
type plainText struct {
	b []byte
	i int
}

// span is a string's place in the text.
type span struct{ from, to int }

// question reads one object, whose key it puts into keys, which has room for one.
func (p *plainText) question(q *provider.Question, keys []string) bool {
	if !p.next('{') {
		return false
	}
	start := p.i
	var who, key, scope span
	var service, hasPrincipal, hasKey, hasScope, hasFresh bool
	for {
		name, ok := p.text()
		if !ok || !p.next(':') {
			return false
		}
		var twice bool
		switch string(name) {
		case "principal":
			twice, hasPrincipal = hasPrincipal, true
			who, service, ok = p.principal()
		case "key":
			twice, hasKey = hasKey, true
			key, ok = p.id()
		case "scope":
			twice, hasScope = hasScope, true
			scope, ok = p.id()
		case "fresh":
			twice, hasFresh = hasFresh, true
			q.Fresh, ok = p.flag()
		default:
			return false
		}
		if !ok || twice {
			return false
		}
		if !p.next(',') {
			break
		}
	}
	if !p.next('}') || !hasPrincipal || !hasKey || p.i-start > maxPlain {
		return false
	}
	text := string(p.b[start:p.i])
	cut := func(s span) string { return text[s.from-start : s.to-start] }
	if service {
		q.Principal.ServiceID = cut(who)
	} else {
		q.Principal.UserID = cut(who)
	}
	keys[0] = cut(key)
	q.Key = keys
	if !hasScope {
		return true
	}
	q.Scope = cut(scope)
	return authz.ValidateScope(q.Scope) == nil
}

func (p *plainText) principal() (id span, service, ok bool) {
	if !p.next('{') {
		return id, false, false
	}
	switch name, ok := p.text(); {
	case !ok:
		return id, false, false
	case string(name) == "userId":
	case string(name) == "serviceId":
		service = true
	default:
		return id, false, false
	}
	if !p.next(':') {
		return id, false, false
	}
	id, ok = p.id()
	return id, service, ok && p.next('}')
}

// id reads a string that is neither empty nor too long.
func (p *plainText) id() (span, bool) {
	text, ok := p.text()
	return span{p.i - 1 - len(text), p.i - 1}, ok && len(text) > 0 && len(text) <= maxID
}

// text reads a string.
func (p *plainText) text() ([]byte, bool) {
	if !p.next('"') {
		return nil, false
	}
	for start := p.i; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return p.b[start : p.i-1], true
		case c < ' ' || c == '\\' || c >= 0x7f:
			return nil, false
		}
	}
	return nil, false
}

func (p *plainText) flag() (on, ok bool) {
	p.space()
	for _, word := range []string{"true", "false"} {
		if rest := p.b[p.i:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			p.i += len(word)
			return word == "true", true
		}
	}
	return false, false
}

// next passes c, and white space before it.
func (p *plainText) next(c byte) bool {
	p.space()
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *plainText) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\t' || p.b[p.i] == '\r') {
		p.i++
	}
}

func (p *plainText) ended() bool {
	p.space()
	return p.i == len(p.b)
}
