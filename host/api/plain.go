package api

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// plainCheck reads the spelling in which nearly every check comes, and says no to
// all others: known members only, each once, strings of printable ASCII without
// escapes. What it reads means the same to the general reader, which judges
// everything that is refused here; it exists because a warm check costs less than
// encoding/json needs to read one.
type plainCheck struct {
	principal authz.Principal
	key       string
	scope     string
	fresh     bool
}

// maxPlain bounds a check that is read here: its strings are cut from one text,
// which a cache may keep for any of them.
const maxPlain = 2048

// plainBody reads a body: one check, or a batch. Nothing is of the second kind
// unless ok.
func plainBody(b []byte) (one plainCheck, many []plainCheck, ok bool) {
	p := plainText{b: b}
	if !p.next('{') {
		return one, nil, false
	}
	if name, ok := p.text(); ok && string(name) == "checks" {
		many, ok = p.batch()
		return one, many, ok && p.next('}') && p.ended()
	}
	p.i = 0
	one, ok = p.check()
	return one, nil, ok && p.ended()
}

func (p *plainText) batch() ([]plainCheck, bool) {
	if !p.next(':') || !p.next('[') {
		return nil, false
	}
	many := make([]plainCheck, 0, min(provider.MaxChecks, len(p.b)/48+1)) // about what one takes at least
	for {
		c, ok := p.check()
		if !ok || len(many) == provider.MaxChecks {
			return nil, false
		}
		many = append(many, c)
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

// check reads one object.
func (p *plainText) check() (c plainCheck, ok bool) {
	if !p.next('{') {
		return c, false
	}
	start := p.i
	var who, key, scope span
	var service, hasPrincipal, hasKey, hasScope, hasFresh bool
	for {
		name, ok := p.text()
		if !ok || !p.next(':') {
			return c, false
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
			c.fresh, ok = p.flag()
		default:
			return c, false
		}
		if !ok || twice {
			return c, false
		}
		if !p.next(',') {
			break
		}
	}
	if !p.next('}') || !hasPrincipal || !hasKey || p.i-start > maxPlain {
		return c, false
	}
	text := string(p.b[start:p.i])
	cut := func(s span) string { return text[s.from-start : s.to-start] }
	if service {
		c.principal.ServiceID = cut(who)
	} else {
		c.principal.UserID = cut(who)
	}
	c.key, c.scope = cut(key), authz.Global
	if hasScope {
		c.scope = cut(scope)
	}
	return c, authz.ValidateScope(c.scope) == nil
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
