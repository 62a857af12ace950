package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/directory"
)

// json reads documents of a directory snapshot. What several of them tell adds up; a
// dataset that none of them has is unknown.
func (r *reading) json(docs []*document) error {
	for _, d := range docs {
		dec := json.NewDecoder(bytes.NewReader(d.text))
		dec.UseNumber()
		if err := r.snapshot(&values{document: d, dec: dec}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) snapshot(v *values) error {
	told := func(c directory.ImporterCapability, absent bool) { r.datasets[c] = r.datasets[c] || !absent }
	members := []string{"groups", "memberships", "reportingEdges", "orgs", "users"}
	absent, err := v.object("the snapshot", members, func(name string) (err error) {
		none := false
		switch name {
		case "groups":
			none, err = v.array(name, func() error { return r.jsonGroup(v) })
			told(directory.CapGroups, none)
		case "users":
			none, err = v.array(name, func() error { return r.jsonUser(v) })
			told(directory.CapUsers, none)
		case "memberships":
			none, err = v.object(name, nil, func(id string) error {
				groups, err := v.ids("a group")
				return first(err, v.goodID("a user id of memberships", id), func() error { return r.add(directory.Membership{UserID: id, Groups: groups}) })
			})
			told(directory.CapMemberships, none)
		case "orgs":
			none, err = v.object(name, nil, func(id string) error {
				orgs, err := v.ids("an org")
				return first(err, v.goodID("a user id of orgs", id), func() error { return r.add(directory.OrgMembership{UserID: id, Orgs: orgs}) })
			})
			told(directory.CapOrgs, none)
		case "reportingEdges":
			none, err = v.object(name, nil, func(id string) error {
				manager, err := v.id("a manager")
				return first(err, v.goodID("a user id of reportingEdges", id), func() error { return r.add(directory.ReportingEdge{UserID: id, ManagerID: manager}) })
			})
			told(directory.CapReporting, none)
		}
		return err
	})
	if err != nil {
		return err
	}
	if absent {
		return v.here("the snapshot is null")
	}
	if t, err := v.dec.Token(); !errors.Is(err, io.EOF) {
		if err != nil {
			return v.broken(err)
		}
		return v.here("the file goes on after the snapshot, with %v", t)
	}
	if len(r.told()) == 0 {
		return v.at(1, 1, "the snapshot holds none of %s", strings.Join(members, ", "))
	}
	return nil
}

// first is the first of two errors, or else what do returns.
func first(a, b error, do func() error) error {
	if a != nil {
		return a
	}
	if b != nil {
		return b
	}
	return do()
}

func (r *reading) jsonGroup(v *values) error {
	var g directory.Group
	absent, err := v.object("a group", []string{"id", "name", "description", "parents"}, func(name string) (err error) {
		switch name {
		case "id":
			g.ID, err = v.id("id")
		case "name":
			g.Name, err = v.text("name", directory.MaxName)
		case "description":
			g.Description, err = v.text("description", directory.MaxText)
		case "parents":
			g.Parents, err = v.ids("a parent")
		}
		return err
	})
	if err == nil && (absent || g.ID == "") {
		return v.here("a group without id")
	}
	return first(err, nil, func() error { return r.add(g) })
}

func (r *reading) jsonUser(v *values) error {
	var u directory.User
	absent, err := v.object("a user", []string{"userId", "active"}, func(name string) (err error) {
		switch name {
		case "userId":
			u.UserID, err = v.id("userId")
		case "active":
			u.Active, err = v.truth("active")
		}
		return err
	})
	if err == nil && (absent || u.UserID == "") {
		return v.here("a user without userId")
	}
	return first(err, nil, func() error { return r.add(u) })
}

// values reads JSON value by value. Members have no second name and no other case;
// what is unknown is a mistake.
type values struct {
	*document
	dec *json.Decoder
}

func (v *values) here(format string, args ...any) error {
	return v.offset(v.dec.InputOffset(), format, args...)
}

// broken says why the decoder stopped.
func (v *values) broken(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return v.offset(int64(len(v.document.text)), "the file ends in the middle: is it cut off?")
	case errors.As(err, &syntax):
		return v.here("this is not JSON: %s", syntax.Error())
	}
	return v.here("this is not JSON")
}

// begin wants an opening bracket, or null.
func (v *values) begin(what string, bracket json.Delim, kind string) (absent bool, err error) {
	t, err := v.dec.Token()
	switch {
	case err != nil:
		return false, v.broken(err)
	case t == nil:
		return true, nil
	case t != bracket:
		return false, v.here("%s must be %s", what, kind)
	}
	return false, nil
}

// object reads the members of an object; known is nil where any name may stand.
func (v *values) object(what string, known []string, member func(name string) error) (absent bool, err error) {
	if absent, err := v.begin(what, '{', "an object"); absent || err != nil {
		return absent, err
	}
	var seen map[string]bool
	if known != nil {
		seen = make(map[string]bool, len(known))
	}
	for v.dec.More() {
		start := v.dec.InputOffset()
		t, err := v.dec.Token()
		if err != nil {
			return false, v.broken(err)
		}
		name, ok := t.(string)
		switch {
		case !ok:
			return false, v.here("a name must be text")
		case known != nil && !slices.Contains(known, name):
			return false, v.here("%s has no member %s%s", what, spell.Quote(name), nearest(known, name))
		case seen[name]:
			return false, v.here("%s has the member %s twice", what, spell.Quote(name))
		}
		if known != nil {
			seen[name] = true
		}
		if err := v.whole(start); err != nil {
			return false, err
		}
		if err := member(name); err != nil {
			return false, err
		}
	}
	return false, v.end()
}

func (v *values) array(what string, member func() error) (absent bool, err error) {
	if absent, err := v.begin(what, '[', "a list"); absent || err != nil {
		return absent, err
	}
	for v.dec.More() {
		if err := member(); err != nil {
			return false, err
		}
	}
	return false, v.end()
}

func (v *values) end() error {
	if _, err := v.dec.Token(); err != nil {
		return v.broken(err)
	}
	return nil
}

func (v *values) text(what string, limit int) (string, error) {
	start := v.dec.InputOffset()
	t, err := v.dec.Token()
	if err != nil {
		return "", v.broken(err)
	}
	text, ok := t.(string)
	switch {
	case !ok:
		return "", v.here("%s must be text", what)
	case len(text) > limit:
		return "", v.here("%s is longer than %d bytes", what, limit)
	case strings.IndexByte(text, 0) >= 0:
		return "", v.here("%s holds U+0000", what)
	}
	return text, v.whole(start)
}

// whole refuses a text, read from start on, of which the decoder replaced a part:
// half of a surrogate pair would make one id of two.
func (v *values) whole(start int64) error {
	written := v.document.text[start:v.dec.InputOffset()]
	for len(written) > 0 {
		n := 1
		if written[0] == '\\' {
			n = 2
			if r := escaped(written); utf16.IsSurrogate(r) {
				if utf16.DecodeRune(r, escaped(written[6:])) == utf8.RuneError {
					return v.here("half of a surrogate pair is no character")
				}
				n = 12
			}
		}
		written = written[n:]
	}
	return nil
}

// escaped is the character of an escape \uXXXX that a text begins with, else 0.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(r)
}

func (v *values) id(what string) (string, error) {
	id, err := v.text(what, directory.MaxID)
	return id, first(err, nil, func() error { return v.goodID(what, id) })
}

func (v *values) goodID(what, id string) error {
	if bad := badID(id); bad != "" {
		return v.here("%s %s", what, bad)
	}
	return nil
}

func (v *values) ids(what string) ([]string, error) {
	list := []string{}
	absent, err := v.array(fmt.Sprintf("the list of which %s is a member", what), func() error {
		id, err := v.id(what)
		list = append(list, id)
		return err
	})
	if err == nil && absent {
		err = v.here("a list must not be null")
	}
	return list, err
}

func (v *values) truth(what string) (*bool, error) {
	t, err := v.dec.Token()
	if err != nil {
		return nil, v.broken(err)
	}
	switch active := t.(type) {
	case nil:
		return nil, nil
	case bool:
		return &active, nil
	}
	return nil, v.here("%s must be true or false", what)
}
