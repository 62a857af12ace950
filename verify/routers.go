package verify

import (
	"fmt"
	"slices"
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"
)

var (
	// routeMethods make a route of a path and handlers.
	routeMethods = wordSet("get post put patch delete del head options all any query")

	// mountMethods put middleware or routers before what follows.
	mountMethods = wordSet("use register addHook")

	routerMethods = wordSet("get post put patch delete del head options all any query use register addHook route on openapi mount")

	// routerMakers make routers when called, or with new.
	routerMakers = wordSet("express Router Hono OpenAPIHono fastify Fastify")

	// routerTypes are what parameters are that a router is handed to.
	routerTypes = wordSet("FastifyInstance FastifyPluginAsync FastifyPluginCallback FastifyPluginAsyncTypebox FastifyPluginAsyncZod " +
		"Express Application Router IRouter Hono OpenAPIHono")

	// hooks of Fastify run before the handler of a route.
	hooks = wordSet("onRequest preParsing preValidation preHandler")
)

// routerDecl is a variable, a member or a parameter that holds a router within a part
// of the file.
type routerDecl struct {
	name       string
	from, to   int
	at         int
	id         string
	exact      bool
	function   *ts.Node // whose parameter it is
	initialise *ts.Node
}

// makesRouter reports whether an expression is a call that makes a router, or a chain
// that begins with one, and whether its paths are exact.
func (r *reader) makesRouter(n *ts.Node) (is, exact bool) {
	for steps := 0; n != nil && steps < maxLinks; steps++ {
		n = unwrap(n)
		if n == nil || n.Kind != ts.KindCallExpression && n.Kind != ts.KindNewExpression {
			return false, false
		}
		path, root := r.path(n.Expression())
		if root != nil {
			n = root
			continue
		}
		if len(path) == 0 {
			return false, false
		}
		name := path[len(path)-1]
		if routerMakers[name] {
			return true, strings.HasSuffix(name, "Hono")
		}
		n = unwrap(n.Expression()) // a chain on a name
		if n == nil || n.Kind != ts.KindPropertyAccess {
			return false, false
		}
		n = n.Expression()
	}
	return false, false
}

// gatherRouter notes a variable or member that is given a router.
func (r *reader) gatherRouter(name, initialiser *ts.Node) {
	if name == nil || initialiser == nil {
		return
	}
	path, root := r.path(name)
	if root != nil || len(path) == 0 || len(path) > 2 {
		return
	}
	if len(path) == 2 && path[0] == "module" {
		path = []string{"default"}
	}
	r.addRouter(strings.Join(path, "."), initialiser)
}

func (r *reader) addRouter(name string, initialiser *ts.Node) {
	is, exact := r.makesRouter(initialiser)
	if !is {
		return
	}
	from, to := r.scope(initialiser, strings.HasPrefix(name, "this."))
	r.routerDecls = append(r.routerDecls, routerDecl{name: name, from: from, to: to, at: initialiser.Pos(), exact: exact, initialise: initialiser})
}

// scope is the part of the file in which a name holds that is given at a node: the
// function around it, for members the class.
func (r *reader) scope(n *ts.Node, member bool) (from, to int) {
	for at := n.Parent; at != nil; at = at.Parent {
		switch {
		case member && at.Kind == ts.KindClassDeclaration, !member && (isFunction(at) || at.Kind == ts.KindConstructor):
			return at.Pos(), at.End()
		}
	}
	return 0, len(r.text)
}

// gatherParameters notes parameters that are routers: by their type, by the name that
// Fastify's plugins give them, or because a router registers the function.
func (r *reader) gatherParameters(f *ts.Node) {
	if f.Kind == ts.KindMethodDeclaration && f.Body() == nil {
		return
	}
	for i, p := range f.Parameters() {
		name := nameText(p.Name())
		if name == "" {
			continue
		}
		named := name == "fastify"
		exact := false
		if t := p.Type(); t != nil && t.Kind == ts.KindTypeReference {
			if of := ts.TypeName(t); of.Kind == ts.KindIdentifier && routerTypes[of.Text()] {
				named, exact = true, strings.HasSuffix(of.Text(), "Hono")
			} else if of.Kind == ts.KindQualifiedName {
				text := r.text[r.start(of):of.End()]
				named = routerTypes[text[strings.LastIndexByte(text, '.')+1:]]
			}
		}
		if !named && i == 0 {
			named = r.isPlugin(f)
		}
		if named {
			r.routerDecls = append(r.routerDecls, routerDecl{name: name, from: f.Pos(), to: f.End(), at: f.Pos(), exact: exact, function: f})
			return
		}
	}
}

// isPlugin reports whether a function is declared as a plugin of Fastify, or registered
// where it stands.
func (r *reader) isPlugin(f *ts.Node) bool {
	p := f.Parent
	if p == nil {
		return false
	}
	switch p.Kind {
	case ts.KindVariableDeclaration:
		if t := p.Type(); t != nil && t.Kind == ts.KindTypeReference && ts.TypeName(t).Kind == ts.KindIdentifier {
			return routerTypes[ts.TypeName(t).Text()]
		}
	case ts.KindCallExpression:
		name := calleeName(p)
		return (name == "register" || name == "fp") && len(p.Arguments()) > 0 && p.Arguments()[0] == f
	}
	return false
}

// numberRouters gives every router a name of its own in the file.
func (r *reader) numberRouters() {
	for i := range r.routerDecls {
		r.routerDecls[i].id = fmt.Sprintf("%s@%d", r.routerDecls[i].name, r.routerDecls[i].at)
	}
	r.indexRouters()
}

// routerAt is the router that a name means at a node: the innermost in whose part of
// the file it lies.
func (r *reader) routerAt(n *ts.Node, path []string) *routerDecl {
	if len(r.routerDecls) == 0 || len(path) == 0 {
		return nil
	}
	return r.routers.at(strings.Join(path, "."), n.Pos(), n.End())
}

func (r *reader) routerNamed(n *ts.Node, path []string) string {
	// What is made here is the router that the declaration around it names.
	if d := r.routers.byMaker[n]; d != nil {
		return d.id
	}
	if n.Kind == ts.KindIdentifier || n.Kind == ts.KindPropertyAccess {
		if d := r.routerAt(n, path); d != nil {
			return d.id
		}
	}
	return ""
}

// routerOfFunction is the router that a function is given, or that it makes and answers.
func (r *reader) routerOfFunction(f *ts.Node) string {
	if d := r.routers.byFunction[f]; d != nil {
		return d.id
	}
	for _, d := range r.routers.byStart[f.Pos()] {
		if f.Pos() <= d.at && d.at < f.End() {
			return d.id
		}
	}
	return ""
}

// collectRouters turns the calls on routers into events, in the order in which they are
// made.
func (r *reader) collectRouters() {
	if len(r.routes) == 0 {
		return
	}
	byID := map[string]*router{}
	var order []string
	calls := slices.Clone(r.routes)
	// A chain's calls begin at one place; what is called first ends first.
	slices.SortStableFunc(calls, func(a, b *ts.Node) int { return methodName(a).Pos() - methodName(b).Pos() })
	for _, n := range calls {
		id, imported, exact, path := r.receiver(n)
		if id == "" && imported == nil {
			continue
		}
		e, ok := r.event(n, path, imported != nil)
		if !ok {
			continue
		}
		if imported != nil {
			id = "import " + strings.Join(imported, ".")
		}
		if byID[id] == nil {
			byID[id] = &router{ID: id, Exact: exact}
			order = append(order, id)
		}
		byID[id].Events = append(byID[id].Events, e)
		if e.Route {
			r.ranges.add(methodName(n).Pos(), n.End())
		}
	}
	for _, id := range order {
		r.module.Routers = append(r.module.Routers, *byID[id])
	}
}

func methodName(n *ts.Node) *ts.Node { return unwrap(n.Expression()).Name() }

// receiver finds the router that a method is called on, through the chain before it,
// or the imported name that may be one. Path is the one that route("…") in the chain
// gives.
func (r *reader) receiver(n *ts.Node) (id string, imported []string, exact bool, path *ts.Node) {
	at := unwrap(unwrap(n.Expression()).Expression())
	for steps := 0; at != nil && steps < maxLinks; steps++ {
		if d := r.routers.byChain[at]; d != nil {
			return d.id, nil, d.exact, path
		}
		if at.Kind != ts.KindCallExpression && at.Kind != ts.KindNewExpression {
			break
		}
		callee := unwrap(at.Expression())
		if callee == nil || callee.Kind != ts.KindPropertyAccess {
			break
		}
		if callee.Name().Text() == "route" && len(at.Arguments()) == 1 && path == nil {
			path = at.Arguments()[0]
		}
		at = unwrap(callee.Expression())
	}
	if at == nil {
		return "", nil, false, nil
	}
	names, root := r.path(at)
	if root != nil || len(names) == 0 {
		return "", nil, false, nil
	}
	if d := r.routerAt(at, names); d != nil {
		return d.id, nil, d.exact, path
	}
	if len(names) == 1 {
		if _, ok := r.module.Imports[names[0]]; ok {
			return "", names, false, path
		}
		if r.factory[names[0]] {
			return "", names, false, path
		}
	}
	return "", nil, false, nil
}

// event reads a call on a router. A receiver that is imported is no router for
// certain: then the path must look like one.
func (r *reader) event(n *ts.Node, routed *ts.Node, unsure bool) (event, bool) {
	method, arguments := methodName(n).Text(), n.Arguments()
	e := event{}
	e.Line, e.Column = r.position(r.start(methodName(n)))
	path := func(n *ts.Node) {
		switch n = unwrap(n); {
		case n == nil:
		case n.Kind == ts.KindStringLiteral || n.Kind == ts.KindPlainTemplate:
			e.Path = strings.Clone(n.Text())
		case n.Kind == ts.KindArrayLiteral:
			e.Path, e.Unclear = "…", true
		default:
			e.Path, e.Unclear = strings.Clone(r.text[r.start(n):min(n.End(), r.start(n)+60)]), true
		}
	}
	handlers := func(rest []*ts.Node) {
		for _, n := range rest[:min(len(rest), maxItems)] {
			e.Handlers = append(e.Handlers, r.value(r.localAt(n), 1))
		}
	}
	isPath := len(arguments) > 0 && isText(arguments[0])
	if unsure && !(isPath && (strings.HasPrefix(arguments[0].Text(), "/") || arguments[0].Text() == "*") || mountMethods[method] && !isPath) {
		return e, false
	}
	switch {
	case routeMethods[method] && routed != nil && len(arguments) > 0:
		e.Route = true
		path(routed)
		handlers(arguments)
	case routeMethods[method] && len(arguments) >= 2:
		e.Route = true
		path(arguments[0])
		handlers(arguments[1:])
	case method == "openapi" && len(arguments) >= 2:
		handlers(arguments)
		return r.openapi(e), true
	case method == "on" && len(arguments) >= 3:
		e.Route = true
		path(arguments[1])
		handlers(arguments[2:])
	case method == "route" && len(arguments) == 1 && unwrap(arguments[0]).Kind == ts.KindObjectLiteral:
		return r.routeObject(e, unwrap(arguments[0]))
	case (method == "route" || method == "mount") && len(arguments) == 2:
		path(arguments[0])
		handlers(arguments[1:])
		return e, true
	case method == "addHook" && len(arguments) >= 2:
		if !isPath || !hooks[arguments[0].Text()] {
			return e, false
		}
		e.Anywhere = true
		handlers(arguments[1:])
		return e, true
	case method == "register" && len(arguments) > 0:
		e.Anywhere = true
		handlers(arguments[:1])
		if len(arguments) > 1 {
			if prefix := r.value(arguments[1], 0).field("prefix"); prefix != nil {
				e.Anywhere, e.Path, e.Unclear = false, prefix.Text, prefix.Kind != text
			}
		}
		return e, true
	case method == "use" && len(arguments) > 0:
		if e.Anywhere = true; isPath || unwrap(arguments[0]).Kind == ts.KindArrayLiteral && len(arguments) > 1 && allText(unwrap(arguments[0])) {
			e.Anywhere = false
			path(arguments[0])
			arguments = arguments[1:]
		}
		handlers(arguments)
		return e, true
	default:
		return e, false
	}
	verb := strings.ToUpper(method)
	if method == "del" {
		verb = "DELETE"
	}
	if method == "on" {
		verb = strings.ToUpper(r.value(arguments[0], 0).Text)
		if verb == "" {
			verb = "ON"
		}
	}
	e.Name, e.Exempt = verb+" "+e.Path, verb == "OPTIONS"
	return e, true
}

// openapi reads app.openapi(createRoute({ method, path }), handler).
func (r *reader) openapi(e event) event {
	e.Route, e.Unclear = true, true
	method := "OPENAPI"
	if v := e.Handlers[0]; v.Kind == call && len(v.Links) > 0 && len(v.Links[0].Args) > 0 {
		v = v.Links[0].Args[0]
		if p := v.field("path"); p != nil && p.Kind == text {
			e.Path, e.Unclear = p.Text, false
		}
		if m := v.field("method"); m != nil && m.Kind == text {
			method = strings.ToUpper(m.Text)
		}
	} else if v.Kind == reference {
		e.Path = strings.Join(v.Path, ".")
	}
	e.Name, e.Exempt = method+" "+e.Path, method == "OPTIONS"
	return e
}

// local is a variable of a function that a call gives.
type local struct {
	name     string
	from, to int
	value    *ts.Node
}

func (r *reader) gatherLocal(n *ts.Node) {
	value := unwrap(n.Initializer())
	if value == nil || value.Kind != ts.KindCallExpression || n.Name().Kind != ts.KindIdentifier || len(r.locals) > maxItems {
		return
	}
	if from, to := r.scope(n, false); from > 0 {
		r.locals = append(r.locals, local{n.Name().Text(), from, to, value})
	}
}

// localAt is what a variable of the function around it was given, or the node itself.
func (r *reader) localAt(n *ts.Node) *ts.Node {
	if n.Kind != ts.KindIdentifier || r.routerAt(n, []string{n.Text()}) != nil {
		return n
	}
	best := local{from: -1, value: n}
	for _, l := range r.locals {
		if l.name == n.Text() && l.from <= n.Pos() && n.End() <= l.to && l.from > best.from {
			best = l
		}
	}
	return best.value
}

func isText(n *ts.Node) bool {
	return n.Kind == ts.KindStringLiteral || n.Kind == ts.KindPlainTemplate
}

func allText(array *ts.Node) bool {
	return !slices.ContainsFunc(array.Elements(), func(n *ts.Node) bool { return !isText(n) })
}

// routeObject reads fastify.route({ method, url, handler }).
func (r *reader) routeObject(e event, n *ts.Node) (event, bool) {
	v := r.value(n, 0)
	handler := v.field("handler")
	if handler == nil {
		return e, false
	}
	method := "ROUTE"
	if m := v.field("method"); m != nil && m.Kind == text {
		method = strings.ToUpper(m.Text)
	}
	if url := v.field("url"); url != nil && url.Kind == text {
		e.Path = url.Text
	} else {
		e.Path, e.Unclear = "…", true
	}
	e.Route, e.Handlers = true, []*value{v, handler}
	e.Name, e.Exempt = method+" "+e.Path, method == "OPTIONS"
	return e, true
}
