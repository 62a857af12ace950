package routes

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Facts are what a package says of its routes.
type Facts struct {
	Routes []Route
	Binds  []Bind
	Uses   []Use

	// Carriers are slots that hold routers, as the result of a function that
	// returns one. A value of another slot is a handler.
	Carriers []string

	// Gates and Exempt are functions by name: those with a gate in them, and those
	// that a pragma takes out.
	Gates, Exempt []string

	// Opened are methods of gRPC by full name that authz's own interceptors let everybody
	// call.
	Opened []string

	// Handlers are functions that serve HTTP by their type, that have no gate in
	// them and that no route of their package names.
	Handlers []Handler

	// Called are functions that serve by their type and that something calls itself, as
	// helpers of other handlers; Valued are those that are handed on as values.
	Called, Valued []string

	// Seen counts what stands before routes, by name; Routers counts routes by the package
	// of their router; Refuses are functions that answer 401 or 403, or the like of gRPC.
	Seen, Routers map[string]int
	Refuses       []string

	// Concrete names the type of what a function returns as an interface.
	Concrete map[string]string

	// What follows is of the package that was read, and crosses to no other.
	literals map[*ast.FuncLit]bool
	tables   map[string]bool
}

// Placed reports whether a route names a literal, or a function of that name.
func (f *Facts) Placed(lit *ast.FuncLit, name string) bool {
	return lit != nil && f.literals[lit] || name != "" && slices.ContainsFunc(f.Routes, func(r Route) bool { return r.Key == name })
}

// InTable reports whether a function of that name stands in a list or a struct.
func (f *Facts) InTable(name string) bool { return f.tables[name] }

// Shared is the fact of a package for go/analysis: what it says, and what the packages
// below it say, by path. Drivers drop facts of packages whose types the exports of this
// one do not name.
type Shared struct{ ByPath map[string]*Facts }

// AFact makes Shared a fact of go/analysis.
func (*Shared) AFact() {}

func (s *Shared) String() string { return fmt.Sprintf("routes of %d packages", len(s.ByPath)) }

// Place is where something is written.
type Place struct {
	File         string
	Line, Column int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Route is a registration of one handler, or of Count that cannot be told apart.
type Route struct {
	Place
	Method, Path string
	Full         string // of a method of gRPC, with the package of its service; "" where not known
	Name         string // of the handler
	Key          string // the same as a name for all packages; "" for a literal
	Count        int    // above 0: cannot be followed

	Slot   string   // the router
	Fn     string   // the function that registers
	Via    []string // slots of functions that the router was given to before
	Gated  bool     // whatever the router
	Public bool     // by the configuration or a pragma

	// Passed: it is given to a function; one that registers nothing makes no route of it.
	Passed bool

	// Unless is a slot: if it carries a router, that one was mounted here and there
	// is no handler.
	Unless string

	pos, end token.Pos
	told     bool
}

// Tell notes that the package of the route has reported it, Told reports whether.
func (r *Route) Tell()      { r.told = true }
func (r *Route) Told() bool { return r.told }

// Pos and End are where the handler is named, in the package that Collect read.
func (r *Route) Pos() token.Pos { return r.pos }
func (r *Route) End() token.Pos { return r.end }

// At says method and path.
func (r *Route) At() string { return strings.TrimSpace(r.Method + " " + r.Path) }

// Bind is one way that a router is reached: below Dep, or from outside where Dep is
// "". Gated says that a gate stands between.
type Bind struct {
	Slot, Dep string
	Gated     bool
	Fn        string
	Via       []string
	Prefix    string

	// Below: Slot is a parameter, a result or a field, and Dep the router that it stands
	// for. Given is the other way: what becomes of the router there, if anything.
	Below, Given bool

	pos token.Pos
}

// Pos is where that is done.
func (b *Bind) Pos() token.Pos { return b.pos }

// Use is a gate that holds for all routes of a router: those that Fn did not
// register, or with All those too.
type Use struct {
	Slot, Fn string
	All      bool
}

// Handler is a function that serves.
type Handler struct {
	Place
	Key, Name string
	Exempt    bool
}

// exported begins the names of slots that other packages can bind.
const exported = "+"

// Status is what is known of a route.
type Status int

// A route is Open as long as only packages above this one can say.
const (
	Ungated Status = iota
	Gated
	Open
	Exempt
	NotFollowed
	Mounted // no handler at all
)

// World is the facts of several packages put together.
type World struct {
	binds    map[string][]*Bind
	uses     map[string][]Use
	carriers map[string]bool
	gates    map[string]bool
	exempt   map[string]bool
	opened   map[string]bool // also without the packages of the services
	concrete map[string]string
	public   func(method, path string) bool

	known   map[string]Status // of slots, whatever was asked before
	circles int               // that were met
	steps   int               // of one question
}

// maxSteps bounds the work on routers that are handed round in circles. Beyond it a
// route is not gated.
const maxSteps = 100_000

// Resolve puts facts together. Public says which routes need no gate.
func Resolve(public func(method, path string) bool, all ...*Facts) *World {
	w := &World{
		binds: map[string][]*Bind{}, uses: map[string][]Use{}, carriers: map[string]bool{},
		gates: map[string]bool{}, exempt: map[string]bool{}, opened: map[string]bool{}, concrete: map[string]string{}, public: public, known: map[string]Status{},
	}
	for _, f := range all {
		w.add(f)
	}
	return w
}

func (w *World) add(f *Facts) {
	for i := range f.Binds {
		w.binds[f.Binds[i].Slot] = append(w.binds[f.Binds[i].Slot], &f.Binds[i])
	}
	for _, u := range f.Uses {
		w.uses[u.Slot] = append(w.uses[u.Slot], u)
	}
	for _, s := range f.Carriers {
		w.carriers[s] = true
	}
	for _, name := range f.Gates {
		w.gates[name] = true
	}
	for _, name := range f.Exempt {
		w.exempt[name] = true
	}
	for _, method := range f.Opened {
		w.opened[method] = true
		if dot := strings.LastIndexByte(method, '.'); dot >= 0 {
			w.opened["/"+method[dot+1:]] = true
		}
	}
	for fn, t := range f.Concrete {
		w.concrete[fn] = t
	}
}

// Status judges a route by all that is known.
func (w *World) Status(r *Route) Status {
	if r.Unless != "" && w.carriers[r.Unless] || r.Passed && len(w.binds[r.Slot]) == 0 {
		return Mounted
	}
	if r.Public || w.exempt[r.Key] {
		return Exempt
	}
	if w.gates[r.Key] {
		return Gated
	}
	if r.Gated {
		return w.behind(r)
	}
	w.steps = 0
	status := w.slot(r.Slot, r.Fn, r.Via, map[string]bool{})
	if status == neutral {
		status = Ungated
	}
	if status == Gated {
		return w.behind(r)
	}
	if r.Path != "" && w.publicBelow(r, r.Slot, r.Path, map[string]bool{}) {
		return Exempt
	}
	if status == Ungated && r.Count > 0 {
		return NotFollowed
	}
	return status
}

// behind is the status of a route behind a gate, which may let everybody pass.
func (w *World) behind(r *Route) Status {
	if r.grpc() && w.opened[cmp.Or(r.Full, r.Path)] {
		return Exempt
	}
	return Gated
}

func (r *Route) grpc() bool {
	return strings.HasSuffix(r.Slot, unarySuffix) || strings.HasSuffix(r.Slot, streamSuffix)
}

// publicBelow holds of a route whose path is public wherever its router is bound.
func (w *World) publicBelow(r *Route, slot, path string, seen map[string]bool) bool {
	if w.public == nil {
		return false
	}
	if w.public(r.Method, path) {
		return true
	}
	if seen[slot] {
		return false
	}
	seen[slot] = true
	some := false
	for _, b := range w.binds[slot] {
		if b.Gated || b.Given {
			continue
		}
		some = true
		below := Join(b.Prefix, path)
		if b.Dep == "" {
			if !w.public(r.Method, below) {
				return false
			}
		} else if !w.publicBelow(r, b.Dep, below, seen) {
			return false
		}
	}
	return some
}

// slot judges a router: the gates that it uses, and the ways that it is reached.
func (w *World) slot(slot, fn string, via []string, seen map[string]bool) Status {
	maker, made := strings.CutPrefix(strings.TrimPrefix(slot, exported), "result:")
	for _, u := range w.uses[slot] {
		// What a caller uses comes after the routes that the router was made with.
		if u.All || u.Fn != fn && (!made || u.Fn == maker) {
			return Gated
		}
	}
	for _, given := range via {
		for _, u := range w.uses[given] {
			if u.Fn != fn {
				return Gated
			}
		}
	}
	list := w.binds[slot]
	if slices.ContainsFunc(list, func(b *Bind) bool { return b.Below }) {
		list = slices.DeleteFunc(slices.Clone(list), func(b *Bind) bool { return !b.Below })
	}
	return w.through(slot, list, seen)
}

// neutral is the status of what says nothing.
const neutral = Mounted

// given judges what becomes of a router in the hands of a slot.
func (w *World) given(slot string, seen map[string]bool) Status {
	list := slices.DeleteFunc(slices.Clone(w.binds[slot]), func(b *Bind) bool { return b.Below })
	if len(list) == 0 {
		return neutral
	}
	return w.through(slot+" given", list, seen)
}

// through judges a router by the ways that it is reached.
func (w *World) through(slot string, list []*Bind, seen map[string]bool) Status {
	if status, ok := w.known[slot]; ok {
		return status
	}
	if seen[slot] {
		w.circles++
		return neutral
	}
	if w.steps++; w.steps > maxSteps {
		return Ungated
	}
	circles := w.circles
	status := w.reached(slot, list, seen)
	if w.circles == circles && w.steps <= maxSteps {
		w.known[slot] = status
	}
	return status
}

func (w *World) reached(slot string, list []*Bind, seen map[string]bool) Status {
	seen[slot] = true
	defer delete(seen, slot)
	status, bound, circle := Gated, false, false
	for _, b := range list {
		s := Gated
		switch {
		case b.Gated:
		case b.Given:
			if s = w.given(b.Dep, seen); s == neutral {
				continue
			}
		case b.Dep == "":
			return Ungated
		default:
			s = w.slot(b.Dep, b.Fn, b.Via, seen)
		}
		switch s {
		case Ungated:
			return Ungated
		case neutral:
			circle = true
			continue
		case Open:
			status = Open
		}
		bound = true
	}
	switch {
	case bound:
		return status
	case circle && len(seen) > 1:
		return neutral
	case strings.HasPrefix(slot, exported):
		return Open
	}
	return Ungated
}

// Reaches reports whether a route hangs below the slot, with no gate between.
func (w *World) Reaches(r *Route, slot string) bool {
	seen := map[string]bool{}
	var up func(from string) bool
	up = func(from string) bool {
		if from == slot {
			return true
		}
		if seen[from] {
			return false
		}
		seen[from] = true
		return slices.ContainsFunc(w.binds[from], func(b *Bind) bool { return !b.Gated && !b.Given && b.Dep != "" && up(b.Dep) })
	}
	return up(r.Slot)
}

// Exposes reports whether a bind leads to nothing that asks.
func (w *World) Exposes(b *Bind) bool {
	w.steps = 0
	return !b.Gated && !b.Given && (b.Dep == "" || w.slot(b.Dep, b.Fn, b.Via, map[string]bool{}) == Ungated)
}

// Join puts a path below a prefix.
func Join(prefix, path string) string {
	switch {
	case prefix == "":
		return path
	case path == "":
		return prefix
	}
	return strings.TrimSuffix(strings.TrimSuffix(prefix, "*"), "/") + "/" + strings.TrimPrefix(path, "/")
}
