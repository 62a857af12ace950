package hosted

import (
	"net/url"
	"strings"

	"github.com/authzhost/authz/host/service/fault"
)

// located puts Location, made of the path's segments below the API.
func (c *Call) located(segments ...string) {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	c.header.Set("Location", c.api.origin.text+base+"/"+strings.Join(segments, "/"))
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
