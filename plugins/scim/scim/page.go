package scim

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const schemaList = "urn:ietf:params:scim:api:messages:2.0:ListResponse"

// page is one answer to a question for a list.
type page[T any] struct {
	total   int // -1 when it was not told
	start   int // 0 when it was not told
	perPage int // -1 when it was not told
	next    string
	items   []T
}

// decodePage reads a ListResponse resource by resource. Names of attributes have no
// case in SCIM.
func decodePage[T any](r io.Reader, decode func(*json.Decoder) (T, error)) (page[T], error) {
	p := page[T]{total: -1, perPage: -1}
	var schemas []string
	err := object(r, func(name string, dec *json.Decoder) error {
		switch name {
		case "schemas":
			return dec.Decode(&schemas)
		case "totalresults":
			return number(dec, name, &p.total)
		case "startindex":
			return number(dec, name, &p.start)
		case "itemsperpage":
			return number(dec, name, &p.perPage)
		case "nextcursor":
			return dec.Decode(&p.next)
		case "resources":
			return each(dec, func() error {
				item, err := decode(dec)
				if err == nil {
					p.items = append(p.items, item)
				}
				return err
			})
		}
		return skip(dec)
	})
	if err != nil {
		return p, err
	}
	return p, wantSchema(schemas, schemaList, "a list")
}

// wantSchema compares names as SCIM does, without case.
func wantSchema(schemas []string, want, what string) error {
	if slices.ContainsFunc(schemas, func(s string) bool { return strings.EqualFold(s, want) }) {
		return nil
	}
	told := "none"
	if len(schemas) > 0 {
		told = spell.QuoteList(schemas[:min(len(schemas), 3)])
	}
	return authz.Validation("unknown schema: %s of SCIM 2.0 has %s, this one has %s", what, want, told)
}

// object reads one JSON object and nothing after it; names come in lower case, none
// twice.
func object(r io.Reader, member func(name string, dec *json.Decoder) error) error {
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return authz.Validation("the answer is no JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		name := strings.ToLower(t.(string)) // the decoder wants a string there
		if seen[name] {
			return authz.Validation("the answer has %s twice", spell.Quote(name))
		}
		seen[name] = true
		if err := member(name, dec); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	switch _, err := dec.Token(); {
	case err == nil:
		return authz.Validation("the answer goes on after its end")
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return nil
}

// each reads the members of an array; null is an empty one.
func each(dec *json.Decoder, member func() error) error {
	switch t, err := dec.Token(); {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t != json.Delim('['):
		return authz.Validation("Resources is no array")
	}
	for dec.More() {
		if err := member(); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func number(dec *json.Decoder, name string, into *int) error {
	if err := dec.Decode(into); err != nil {
		return err
	}
	if *into < 0 {
		return authz.Validation("%s is negative", name)
	}
	return nil
}

func skip(dec *json.Decoder) error {
	var ignored json.RawMessage
	return dec.Decode(&ignored)
}
