package hosted

import (
	"net/url"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// located puts Location, made of the path's segments below the API.
func (c *Call) located(segments ...string) {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	c.header.Set("Location", c.api.origin.text+base+"/"+strings.Join(segments, "/"))
}

// locatedAt adds the application that keeps the object, without which it is not
// found; "" is none.
func (c *Call) locatedAt(application string) {
	if application != "" {
		c.header.Set("Location", c.header.Get("Location")+"?application="+url.QueryEscape(application))
	}
}

// userAgent is what the client calls itself, cut and without control characters.
func (c *Call) userAgent() string {
	agent := echo(c.Request.UserAgent())
	if len(agent) > maxUserAgent {
		agent = strings.ToValidUTF8(agent[:maxUserAgent], "")
	}
	return agent
}

// required is for members to which null means something.
func required(name string, given bool) error {
	if given {
		return nil
	}
	return fault.Invalid(fault.Issue{Path: name, Message: "is required"})
}

// pageOf cuts a page out of rows that are in the order of their positions.
func pageOf[T any](rows []T, position func(T) string, p service.Page) (page []T, next string) {
	from, found := slices.BinarySearchFunc(rows, p.After, func(row T, after string) int { return strings.Compare(position(row), after) })
	if found {
		from++
	}
	if page = rows[from:]; len(page) > p.Limit {
		page = page[:p.Limit]
		next = position(page[p.Limit-1])
	}
	if page == nil {
		page = []T{}
	}
	return page, next
}

func errMoved() error {
	return fault.Cloud("precondition_failed", "the object has changed since it was read; read it again")
}

func invalid(path, message string) error {
	return fault.Invalid(fault.Issue{Path: path, Message: message})
}

func checkScope(scope *string) error { return checkScopeOf("scope", scope) }

func checkScopeOf(parameter string, scope *string) error {
	if scope != nil && authz.ValidateScope(*scope) != nil {
		return fault.Parameter(parameter, fault.NoScope)
	}
	return nil
}

// checkInstance is for rows of one application, which are never global.
func checkInstance(scope *string) error {
	if scope == nil || *scope == authz.Global {
		return invalid("scope", "must be a scope instance of the application; global rows go through /org")
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func errOnePrincipal() error {
	return fault.Parameter("userId", "either userId or serviceId is required, and not both")
}
