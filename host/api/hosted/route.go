package hosted

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
)

// base is where the API lies below the origin.
const base = "/api/v1"

// routes finds endpoints by their segments; a literal segment goes before a
// parameter.
type routes struct {
	literal   map[string]*routes
	parameter *routes
	methods   map[string]*endpoint
}

func (n *routes) add(e *endpoint) {
	for segment := range strings.SplitSeq(strings.TrimPrefix(e.Path, "/"), "/") {
		next := &n.parameter
		if !strings.HasPrefix(segment, "{") {
			if n.literal == nil {
				n.literal = map[string]*routes{}
			}
			if n.literal[segment] == nil {
				n.literal[segment] = &routes{}
			}
			n = n.literal[segment]
			continue
		}
		if *next == nil {
			*next = &routes{}
		}
		n = *next
	}
	if n.methods == nil {
		n.methods = map[string]*endpoint{}
	}
	n.methods[e.Method] = e
}

func routeNotFound() *fault.Error {
	return protocol("route_not_found", "there is no such endpoint")
}

// find returns the endpoint and its path's values. A value that no id can be is
// reported beside the endpoint, since it is judged later than the credential.
func (n *routes) find(method, path string) (e *endpoint, values map[string]string, bad *fault.Error, err *fault.Error) {
	rest, ours := strings.CutPrefix(path, base+"/")
	if !ours {
		return nil, nil, nil, routeNotFound()
	}
	var given []string
	for segment := range strings.SplitSeq(rest, "/") {
		if next := n.literal[segment]; next != nil {
			n = next
			continue
		}
		if n.parameter == nil || segment == "" {
			return nil, nil, nil, routeNotFound()
		}
		n = n.parameter
		given = append(given, segment)
	}
	if n.methods == nil {
		return nil, nil, nil, routeNotFound()
	}
	e = n.methods[method]
	if e == nil && method == http.MethodHead {
		e = n.methods[http.MethodGet]
	}
	if e == nil {
		e := protocol("method_not_allowed", "this path has no such method")
		return nil, nil, nil, e.With("allow", n.allow())
	}
	values = make(map[string]string, len(given))
	for i, name := range e.parameters {
		value, problem := segmentValue(name, given[i])
		if problem != nil && bad == nil {
			bad = problem
		}
		values[name] = value
	}
	return e, values, bad, nil
}

func (n *routes) allow() []string {
	var methods []string
	for m := range n.methods {
		if methods = append(methods, m); m == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return methods
}

// segmentValue decodes a segment once. What is still encoded after it stays so.
func segmentValue(name, segment string) (string, *fault.Error) {
	value, err := url.PathUnescape(segment)
	if err != nil || !utf8.ValidString(value) || strings.ContainsRune(value, '/') || strings.ContainsFunc(value, control) {
		return "", fault.Parameter(name, "is not well-formed")
	}
	return value, nil
}

func echo(s string) string { return spell.Echo(s) }
