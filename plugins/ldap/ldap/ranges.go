package ldap

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Active Directory tells long lists of values in parts: asked for "member" it
// answers "member;range=0-1499", and asked for "member;range=1500-*" the next part,
// the last one with "*" for its end.

// part is what one answer told of an attribute.
type part struct {
	values [][]byte
	next   int  // where the next part begins; 0: this was the last
	told   bool // there was something to read
}

// partOf reads the part that begins at from.
func partOf(entry *ldap.Entry, attribute string, from int) (p part, err error) {
	for _, a := range entry.Attributes {
		plain, option, _ := strings.Cut(a.Name, ";")
		if !strings.EqualFold(plain, attribute) {
			continue
		}
		bounds, ranged := cutPrefixFold(option, "range=")
		switch {
		case ranged:
			if p.next, err = after(bounds, from, len(a.ByteValues)); err != nil {
				return part{}, fmt.Errorf("the attribute %s came with a range that makes no sense", spell.Quote(attribute))
			}
		case option != "" || from > 0:
			continue // in a language, or another transfer encoding: another attribute
		}
		p.told = true
		p.values = append(p.values, a.ByteValues...)
	}
	return p, nil
}

var errRange = errors.New("no range")

// after is where the part behind the given one begins.
func after(bounds string, from, values int) (int, error) {
	low, high, ok := strings.Cut(bounds, "-")
	if n, err := strconv.Atoi(low); !ok || err != nil || n != from {
		return 0, errRange
	}
	if high == "*" {
		return 0, nil
	}
	if n, err := strconv.Atoi(high); err != nil || n < from || n-from+1 != values {
		return 0, errRange
	}
	return from + values, nil
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// rest asks for the values from the one at next on, until the server says that it
// told the last. A part that is missing is an outage: the list would be cut short.
func (s *session) rest(ctx context.Context, dn, attribute string, next int, each func(value []byte) error) error {
	incomplete := func(why string) error {
		return &authz.UnavailableError{Message: fmt.Sprintf("%s: the values of %s of the entry %s could not be read to their end: %s",
			s.server, spell.Quote(attribute), spell.Quote(dn), why)}
	}
	for next > 0 {
		if next > maxMembers {
			return authz.Validation("%s: the entry %s has more than %d values of %s", s.server, spell.Quote(dn), maxMembers, spell.Quote(attribute))
		}
		entry, err := s.entry(dn, fmt.Sprintf("%s;range=%d-*", attribute, next))
		if err != nil {
			if ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject) {
				return incomplete("it is gone; the next reading sees what became of it")
			}
			return s.fault(ctx, "a search for members", err)
		}
		if entry == nil {
			return incomplete("it is gone; the next reading sees what became of it")
		}
		p, err := partOf(entry, attribute, next)
		if err != nil {
			return incomplete(err.Error())
		}
		if !p.told {
			return incomplete("the server told no further part")
		}
		for _, value := range p.values {
			if err := each(value); err != nil {
				return err
			}
		}
		next = p.next
	}
	return nil
}
