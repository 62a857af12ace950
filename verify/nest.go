package verify

import (
	ts "github.com/microsoft/typescript-go/authzshim"
)

var (
	controllers = wordSet("Controller Resolver WebSocketGateway JsonController RestController")

	// handlerDecorators make a method of such a class one that clients call.
	handlerDecorators = wordSet("Get Post Put Patch Delete All Head Options Search Sse Query Mutation Subscription SubscribeMessage")
)

// collectClass lists the methods of a controller of NestJS that clients call.
func (r *reader) collectClass(class *ts.Node, add func(*ts.Node, served)) {
	around := r.decorators(class)
	isController := false
	for _, v := range around {
		isController = isController || len(v.Path) > 0 && controllers[v.Path[len(v.Path)-1]]
	}
	if !isController {
		return
	}
	named := nameText(class.Name())
	for _, method := range class.Members() {
		if method.Kind != ts.KindMethodDeclaration || method.Body() == nil {
			continue
		}
		own := r.decorators(method)
		for _, v := range own {
			if len(v.Path) == 0 || !handlerDecorators[v.Path[len(v.Path)-1]] {
				continue
			}
			name := nameText(method.Name())
			if named != "" {
				name = named + "." + name
			}
			add(method, served{
				Name: name, How: byDecorator, Value: r.value(method, 0),
				Around: append(own, around...), Exempt: v.Path[len(v.Path)-1] == "Options",
			})
			break
		}
	}
}

// decorators are what stands before a class or a method with "@".
func (r *reader) decorators(n *ts.Node) []*value {
	var all []*value
	for _, m := range n.ModifierNodes() {
		if m.Kind == ts.KindDecorator {
			all = append(all, r.value(m.Expression(), 0))
		}
	}
	return all
}

// gatherGuard notes a provider of APP_GUARD.
func (r *reader) gatherGuard(n *ts.Node) {
	guard := false
	var use *ts.Node
	for _, p := range n.Properties() {
		if p.Kind != ts.KindPropertyAssignment {
			continue
		}
		switch nameText(p.Name()) {
		case "provide":
			guard = nameText(p.Initializer()) == "APP_GUARD"
		case "useClass", "useExisting", "useValue":
			use = p.Initializer()
		}
	}
	if guard && use != nil {
		r.guards = append(r.guards, use)
	}
}
