package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// object is one JSON object of a request, read into a struct by what its fields
// declare (provider.Members). Names are matched exactly, which encoding/json does
// not do for structs; null reads as absent unless the member says otherwise. Members
// that nobody asks for are ignored, on the administration socket refused.
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
	later  []func() // reads what is judged after all other members
	err    error
	actor  *authz.Provenance // stands in for provenance that was left out; nil: it must be there
	strict []object          // those that are held to what was asked of them; nil holds none
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
			if near := spell.Nearest(name, known); near != "" {
				meant = "did you mean " + strconv.Quote(near) + "?"
			} else if len(known) == 0 {
				meant = "none is"
			}
			p.refuse(authz.Validation("%s is no member that is known here — %s", o.label(spell.Echo(name)), meant))
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

// into reads the object's members into a struct: first whether all are there that
// must be, then each in its turn.
func (o object) into(v reflect.Value) {
	declared := provider.Members(v.Type())
	if o.op == "" { // of an operation's own parameters, checkRequired has told
		for _, m := range declared {
			if m.Required && !m.Null && ownReaders[m.Type] == nil && !o.has(m.Name) {
				o.refuse(m.Name, m.Want())
			}
		}
	}
	for turn := -1; turn <= 1; turn++ {
		for _, m := range declared {
			if m.Turn == turn && !(m.Unless != "" && o.has(m.Unless)) {
				o.member(m, v.FieldByIndex(m.Index))
			}
		}
	}
	if o.op != "" {
		for _, read := range o.problem.later {
			read()
		}
	}
	if own, ok := v.Addr().Interface().(interface{ Check() error }); ok {
		if err := own.Check(); err != nil {
			o.problem.refuse(err)
		}
	}
}

func (o object) member(m provider.Member, v reflect.Value) {
	if m.Clears != "" {
		raw, ok := o.raw(m.Clears)
		v.SetBool(ok && isNull(raw))
		return
	}
	if own := ownReaders[m.Type]; own != nil {
		own(o, m, v)
		return
	}
	if m.Rule == provider.RuleSource {
		orgSource(o, m, v)
		return
	}
	raw, ok := o.raw(m.Name)
	switch {
	case !ok && m.Required && m.Null && o.op == "":
		o.refuse(m.Name, m.Want()+" or null")
	case !ok:
	case !isNull(raw) || m.Filter:
		o.value(m, raw, v)
	case m.Null && v.Kind() == reflect.Pointer && !m.Required:
		v.Set(reflect.New(v.Type().Elem())) // null clears, as the zero value does
	}
}

// value reads raw, which is not null unless that is to be refused.
func (o object) value(m provider.Member, raw json.RawMessage, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(o.text(m, raw))
	case reflect.Bool:
		if s := string(raw); s != "true" && s != "false" {
			o.refuse(m.Name, m.Want())
		}
		v.SetBool(string(raw) == "true")
	case reflect.Int, reflect.Int64:
		v.SetInt(o.integer(m, raw))
	case reflect.Float64:
		if json.Unmarshal(raw, v.Addr().Interface()) != nil {
			o.refuse(m.Name, m.Want())
		}
	case reflect.Struct:
		nested, ok := o.inner(raw)
		if !ok {
			o.refuse(m.Name, m.Want())
			return
		}
		nested.into(v)
	case reflect.Slice:
		o.list(m, raw, v)
	case reflect.Map:
		o.dictionary(m, raw, v)
	default:
		panic("api: no reader for a " + v.Type().String())
	}
}

// list reads a list; one that was sent is never nil.
func (o object) list(m provider.Member, raw json.RawMessage, v reflect.Value) {
	items := o.items(m, raw)
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	known := map[string]bool{}
	for i, item := range items {
		switch element := v.Index(i); element.Kind() {
		case reflect.Struct:
			nested, ok := o.objectOf(item)
			if !ok {
				o.refuse(m.Name, m.Want())
				continue
			}
			if o.known != nil {
				nested = nested.strictlyAs(known)
			}
			nested.into(element)
		case reflect.String:
			element.SetString(o.textOf(m.Name, item, m.Want()))
		default:
			element.Set(reflect.ValueOf(item))
		}
	}
}

func (o object) items(m provider.Member, raw json.RawMessage) []json.RawMessage {
	items := []json.RawMessage{}
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		o.refuse(m.Name, m.Want())
	}
	return items
}

// dictionary reads an object whose names are data.
func (o object) dictionary(m provider.Member, raw json.RawMessage, v reflect.Value) {
	nested, ok := o.objectOf(raw)
	if !ok {
		o.refuse(m.Name, m.Want())
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(nested.members)))
	for name, raw := range nested.members {
		if m.Rule == provider.RuleAnswers && isNull(raw) {
			continue
		}
		of := provider.Member{Name: m.Name, Type: v.Type().Elem(), Outer: m.Want()}
		value := reflect.New(of.Type).Elem()
		o.value(of, raw, value)
		v.SetMapIndex(reflect.ValueOf(name), value)
	}
}

// text reads a string and holds it to the member's rule.
func (o object) text(m provider.Member, raw json.RawMessage) string {
	s := o.textOf(m.Name, raw, m.Want())
	switch m.Rule {
	case provider.RuleNonEmpty, provider.RuleID, provider.RuleTarget:
		if s == "" {
			o.refuse(m.Name, "a non-empty string")
		}
		if len(s) > maxID && m.Rule != provider.RuleNonEmpty {
			o.problem.refuse(authz.Validation("%s is longer than %d bytes", o.label(m.Name), maxID))
		}
		if m.Rule == provider.RuleTarget {
			o.issue(authz.ValidateScope(s))
		}
	case provider.RuleScope:
		if s == "" {
			o.issue(authz.ValidateScope(s))
		}
	case provider.RulePattern:
		if s == "" {
			o.issue(authz.ValidatePattern(s))
		}
	case provider.RuleWellFormed:
		o.issue(authz.ValidatePattern(s))
	}
	return s
}

func (o object) issue(bad *authz.GrammarError) {
	if bad != nil {
		o.problem.refuse(authz.Validation("%s", bad.Reason))
	}
}

// maxID bounds ids of users, scopes and the like, in bytes.
const maxID = 1024

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

// integer reads a number and holds it to the member's rule.
func (o object) integer(m provider.Member, raw json.RawMessage) int64 {
	n, ok := parseInteger(raw)
	switch m.Rule {
	case provider.RuleSequence:
		ok = ok && n >= 0
	case provider.RulePage:
		ok = ok && n >= 1 && n <= maxPage
	case provider.RulePositive:
		if ok && n < 1 {
			o.refuse(m.Name, "an integer of at least 1") // 0 would mean that there is none
		}
	}
	if !ok {
		o.refuse(m.Name, m.Want())
		return 0
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

// ownReaders read members of types that JSON and Go spell differently.
var ownReaders map[reflect.Type]func(o object, m provider.Member, v reflect.Value)

func init() {
	ownReaders = map[reflect.Type]func(o object, m provider.Member, v reflect.Value){
		reflect.TypeFor[authz.Provenance]():     provenance,
		reflect.TypeFor[authz.Expiry]():         expiry,
		reflect.TypeFor[*authz.AuditCursor]():   auditCursor,
		reflect.TypeFor[metrics.Batch]():        batch,
		reflect.TypeFor[provider.Keys]():        keys,
		reflect.TypeFor[json.RawMessage]():      document,
		reflect.TypeFor[provider.OrgSnapshot](): orgSnapshot,
		reflect.TypeFor[provider.Batch]():       questions,
	}
}

// provenance reads who is answerable; a local caller may leave it out.
func provenance(o object, m provider.Member, v reflect.Value) {
	if o.problem.actor != nil && !o.has(m.Name) {
		v.Set(reflect.ValueOf(*o.problem.actor))
		return
	}
	raw, _ := o.raw(m.Name)
	p, err := authz.ParseProvenance(raw)
	if err != nil {
		o.problem.refuse(err)
	}
	v.Set(reflect.ValueOf(p))
}

func expiry(o object, m provider.Member, v reflect.Value) {
	if !o.has(m.Name) {
		return
	}
	raw := o.members[m.Name]
	ms, ok := parseInteger(raw)
	if !ok {
		var received bytes.Buffer
		_ = json.Compact(&received, raw) // raw is valid JSON: it came out of a parsed body
		o.problem.refuse(authz.Validation("%s must be a finite epoch-millisecond number — received %s",
			m.Name, spell.Echo(received.String())))
		return
	}
	v.Set(reflect.ValueOf(authz.ExpiresAt(ms)))
}

func auditCursor(o object, m provider.Member, v reflect.Value) {
	raw, ok := o.raw(m.Name)
	if !ok || isNull(raw) && !m.Filter {
		return
	}
	cursor, ok := o.inner(raw)
	if !ok {
		o.refuse(m.Name, "an object with the members at and id")
		return
	}
	at := new(authz.AuditCursor)
	cursor.into(reflect.ValueOf(at).Elem())
	v.Set(reflect.ValueOf(at))
}

// batch lets a batch of counts read itself: what it must hold is told where it is
// written.
func batch(o object, m provider.Member, v reflect.Value) {
	raw, _ := o.raw(m.Name)
	if _, ok := o.objectOf(raw); !ok {
		o.refuse(m.Name, "an object")
		return
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		var refused *authz.WriteRejectedError
		if !errors.As(err, &refused) {
			refused = authz.Validation("batch is malformed")
		}
		o.problem.refuse(refused)
	}
}

// keys reads one key or a list of them, never an empty one: a mistake must not
// read as a denial.
func keys(o object, m provider.Member, v reflect.Value) {
	const want = "a key or a non-empty list of keys"
	raw, _ := o.raw(m.Name)
	items := []json.RawMessage{raw}
	if len(raw) > 0 && raw[0] == '[' {
		if items = o.items(provider.Member{Name: m.Name, Outer: want}, raw); len(items) == 0 {
			o.refuse(m.Name, want)
		}
	}
	found := make(provider.Keys, 0, len(items))
	for _, item := range items {
		key := o.textOf(m.Name, item, want)
		if key == "" {
			o.refuse(m.Name, want)
		}
		found = append(found, key)
	}
	v.Set(reflect.ValueOf(found))
}

// questions reads how many there are.
func questions(o object, m provider.Member, v reflect.Value) {
	if !o.has(m.Name) {
		return
	}
	items := o.items(provider.Member{Name: m.Name, Outer: "a list of checks"}, o.members[m.Name])
	if len(items) < 1 || len(items) > provider.MaxChecks {
		o.refuse(m.Name, fmt.Sprintf("a list of 1 to %d checks", provider.MaxChecks))
	}
	v.Set(reflect.ValueOf(provider.Batch(items)))
}

// document hands an object on as it came: whoever it is for reads it.
func document(o object, m provider.Member, v reflect.Value) {
	if !m.Required && !o.has(m.Name) {
		return
	}
	raw, _ := o.raw(m.Name)
	if _, ok := o.objectOf(raw); !ok && m.Rule == provider.RuleDocument {
		o.refuse(m.Name, "an object")
	}
	v.Set(reflect.ValueOf(raw))
}
