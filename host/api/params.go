package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// object is one JSON object of a request, read member by member. Names are
// matched exactly, which encoding/json does not do for structs; null reads as
// absent unless a method says otherwise. Members that nobody asks for are ignored,
// on the administration socket refused.
//
// The first member that does not read is kept in problem, which nested objects
// share, and every later read yields a zero value: whoever reads parameters looks
// at problem once, before acting on any of them.
type object struct {
	op      string // the operation, for its own parameters; "" in a nested object
	members map[string]json.RawMessage
	problem *problem
	known   map[string]bool // what was asked for; nil where nobody wants to know
}

// problem holds the first fault found in a request.
type problem struct {
	err    error
	strict []object // those that are held to what was asked of them; nil holds none
}

func (p *problem) refuse(err error) {
	if p.err == nil {
		p.err = err
	}
}

// has reports that the member is there and not null.
func (o object) has(field string) bool {
	raw, ok := o.raw(field)
	return ok && !isNull(raw)
}

// raw is the member as it came, null included.
func (o object) raw(field string) (json.RawMessage, bool) {
	if o.known != nil {
		o.known[field] = true
	}
	raw, ok := o.members[field]
	return raw, ok
}

// value is raw, empty when the member is absent.
func (o object) value(field string) json.RawMessage {
	raw, _ := o.raw(field)
	return raw
}

// strictly holds the object, and every one that is read below it, to the members
// that are asked for.
func (o object) strictly() object { return o.strictlyAs(map[string]bool{}) }

// strictlyAs is strictly for the elements of a list, which know the same members.
func (o object) strictlyAs(known map[string]bool) object {
	o.known = known
	o.problem.strict = append(o.problem.strict, o)
	return o
}

// refuseUnknown refuses the first member that nobody asked for, once everything was
// read.
func (p *problem) refuseUnknown() {
	for _, o := range p.strict {
		var unknown []string
		for name := range o.members {
			if !o.known[name] {
				unknown = append(unknown, name)
			}
		}
		if len(unknown) > 0 {
			name := slices.Min(unknown)
			known := slices.Sorted(maps.Keys(o.known))
			meant := "known here: " + strings.Join(known, ", ")
			if near := authz.Nearest(name, known); near != "" {
				meant = "did you mean " + strconv.Quote(near) + "?"
			} else if len(known) == 0 {
				meant = "none is"
			}
			p.refuse(authz.Validation("%s is no member that is known here — %s", o.label(authz.Echo(name)), meant))
		}
	}
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }

// label names a member as messages do.
func (o object) label(field string) string {
	if o.op == "" {
		return field
	}
	return o.op + ": " + strconv.Quote(field)
}

// refuse records "<field> must be <want>".
func (o object) refuse(field, want string) {
	o.problem.refuse(authz.Validation("%s must be %s", o.label(field), want))
}

// text reads a string; "" when absent.
func (o object) text(field string) string {
	if !o.has(field) {
		return ""
	}
	return o.textOf(field, o.members[field], "a string")
}

// optionalText reads a string; nil when absent.
func (o object) optionalText(field string) *string {
	if !o.has(field) {
		return nil
	}
	s := o.text(field)
	return &s
}

// textOrNone reads a string; "" when absent.
func (o object) textOrNone(field string) string {
	if s := o.optionalText(field); s != nil {
		return *s
	}
	return ""
}

// filterText reads a member of a filter, where null is refused: it must never
// widen what is selected.
func (o object) filterText(field string) *string {
	raw, ok := o.raw(field)
	if !ok {
		return nil
	}
	s := o.textOf(field, raw, "a string")
	return &s
}

func (o object) textOf(field string, raw json.RawMessage, want string) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		o.refuse(field, want)
		return ""
	}
	if strings.ContainsRune(s, 0) {
		o.problem.refuse(authz.Validation("%s must not contain U+0000", o.label(field)))
		return ""
	}
	return s
}

// nonEmpty reads a string that may be absent but not "", where an empty one
// would otherwise pass for absent.
func (o object) nonEmpty(field string) string {
	s := o.text(field)
	if s == "" && o.has(field) {
		o.refuse(field, "a non-empty string")
	}
	return s
}

// maxID bounds ids of users, scopes and the like, in bytes.
const maxID = 1024

// id is nonEmpty for what evaluation is asked about.
func (o object) id(field string) string {
	s := o.nonEmpty(field)
	if len(s) > maxID {
		o.problem.refuse(authz.Validation("%s is longer than %d bytes", o.label(field), maxID))
	}
	return s
}

// scope reads a scope id; "" when absent, never when "" was sent: to the
// provider that means global.
func (o object) scope(field string) string {
	s := o.text(field)
	if s == "" && o.has(field) {
		o.problem.refuse(authz.Validation("%s", authz.ValidateScope(s).Reason))
	}
	return s
}

// pattern reads a pattern; "" when absent, never when "" was sent.
func (o object) pattern(field string) string {
	s := o.text(field)
	if s == "" && o.has(field) {
		o.problem.refuse(authz.Validation("%s", authz.ValidatePattern(s).Reason))
	}
	return s
}

// targetScope reads a scope id that evaluation is asked about and checks its
// grammar; "" when absent.
func (o object) targetScope(field string) string {
	if !o.has(field) {
		return ""
	}
	s := o.id(field)
	if bad := authz.ValidateScope(s); bad != nil {
		o.problem.refuse(authz.Validation("%s", bad.Reason))
	}
	return s
}

// flag reads a boolean; false when absent.
func (o object) flag(field string) bool {
	if !o.has(field) {
		return false
	}
	switch string(o.members[field]) {
	case "true":
		return true
	case "false":
		return false
	}
	o.refuse(field, "a boolean")
	return false
}

// optionalFlag reads a boolean; nil when absent.
func (o object) optionalFlag(field string) *bool {
	if !o.has(field) {
		return nil
	}
	b := o.flag(field)
	return &b
}

// optionalFraction reads a number; nil when absent.
func (o object) optionalFraction(field string) *float64 {
	if !o.has(field) {
		return nil
	}
	var f float64
	if raw := o.members[field]; string(raw) == "null" || json.Unmarshal(raw, &f) != nil {
		o.refuse(field, "a number")
	}
	return &f
}

// integer reads a number without a fraction that fits a float64; def when
// absent.
func (o object) integer(field string, def int64) int64 {
	if !o.has(field) {
		return def
	}
	return o.integerOf(field, o.members[field])
}

// optionalInteger reads an integer; nil when absent.
func (o object) optionalInteger(field string) *int64 {
	if !o.has(field) {
		return nil
	}
	n := o.integer(field, 0)
	return &n
}

// filterInteger reads an integer of a filter, where null is refused.
func (o object) filterInteger(field string) *int64 {
	raw, ok := o.raw(field)
	if !ok {
		return nil
	}
	n := o.integerOf(field, raw)
	return &n
}

func (o object) integerOf(field string, raw json.RawMessage) int64 {
	n, ok := parseInteger(raw)
	if !ok {
		o.refuse(field, "an integer")
	}
	return n
}

// parseInteger accepts every spelling of an integer within ±authz.MaxInstant:
// 5, 5.0 and 5e0 are one number in JSON.
func parseInteger(raw json.RawMessage) (int64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, authz.ValidInstant(n)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > float64(authz.MaxInstant) {
		return 0, false
	}
	return int64(f), true
}

// expiry reads a time bound.
func (o object) expiry(field string) authz.Expiry {
	if !o.has(field) {
		return authz.Expiry{}
	}
	raw := o.members[field]
	ms, ok := parseInteger(raw)
	if !ok {
		var received bytes.Buffer
		_ = json.Compact(&received, raw) // raw is valid JSON: it came out of a parsed body
		o.problem.refuse(authz.Validation("%s must be a finite epoch-millisecond number — received %s",
			field, authz.Echo(received.String())))
		return authz.Expiry{}
	}
	return authz.ExpiresAt(ms)
}

// nested reads a nested object; one without members when absent.
func (o object) nested(field string) object {
	if !o.has(field) {
		return object{problem: o.problem}
	}
	nested, ok := o.inner(o.members[field])
	if !ok {
		o.refuse(field, "an object")
	}
	return nested
}

func (o object) objectOf(raw json.RawMessage) (object, bool) {
	nested := object{problem: o.problem}
	if len(raw) == 0 || raw[0] != '{' {
		return nested, false
	}
	return nested, json.Unmarshal(raw, &nested.members) == nil
}

// inner is objectOf for an object whose names are not data.
func (o object) inner(raw json.RawMessage) (object, bool) {
	nested, ok := o.objectOf(raw)
	if ok && o.known != nil {
		nested = nested.strictly()
	}
	return nested, ok
}

// list reads a list; nil when absent, never when a list was sent.
func (o object) list(field, want string) []json.RawMessage {
	if !o.has(field) {
		return nil
	}
	return o.listOf(field, o.members[field], want)
}

func (o object) listOf(field string, raw json.RawMessage, want string) []json.RawMessage {
	items := []json.RawMessage{}
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		o.refuse(field, want)
	}
	return items
}

// objects reads a list of objects; nil when absent.
func (o object) objects(field string) []object {
	const want = "a list of objects"
	items := o.list(field, want)
	if items == nil {
		return nil
	}
	nested := make([]object, 0, len(items))
	known := map[string]bool{}
	for _, raw := range items {
		item, ok := o.objectOf(raw)
		if !ok {
			o.refuse(field, want)
		}
		if o.known != nil {
			item = item.strictlyAs(known)
		}
		nested = append(nested, item)
	}
	return nested
}

// texts reads a list of strings; nil when absent.
func (o object) texts(field string) []string {
	if !o.has(field) {
		return nil
	}
	return o.textsOf(field, o.members[field], "a list of strings")
}

func (o object) textsOf(field string, raw json.RawMessage, want string) []string {
	items := o.listOf(field, raw, want)
	values := make([]string, 0, len(items))
	for _, item := range items {
		values = append(values, o.textOf(field, item, want))
	}
	return values
}

// required refuses a nested member that is absent, as having the wrong type.
func (o object) required(field, want string) {
	if !o.has(field) {
		o.refuse(field, want)
	}
}
