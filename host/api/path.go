package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// versionSegment stands between the mount point and the operation.
const versionSegment = "/v1/"

// rawPath is the path as it was sent, without query and fragment: nothing
// decoded, nothing cleaned. A URL does not keep it where it holds characters that
// belong escaped: it gives those back with %2F turned into a slash.
func rawPath(r *http.Request) string {
	path := r.RequestURI
	if path == "" { // a request that no server read
		return r.URL.EscapedPath()
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if scheme, rest, absolute := strings.Cut(path, "://"); absolute && !strings.Contains(scheme, "/") {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			return rest[i:]
		}
		return "/"
	}
	return path
}

func badPath() error {
	return &provider.APIError{Code: provider.UnknownOp, Message: "expected a path of the form {base}/v1/{op}"}
}

func unknownOp(op string) error {
	return &provider.APIError{Code: provider.UnknownOp, Message: "unknown operation " + authz.Quote(op)}
}

// operationName takes the operation from a raw path: everything after the last
// "/v1/", decoded once. A path in which an earlier "/v1/" is followed by a known
// operation names two operations and is refused.
func operationName(path string, known func(op string) bool) (string, error) {
	last := strings.LastIndex(path, versionSegment)
	if last < 0 {
		return "", badPath()
	}
	op, err := url.PathUnescape(path[last+len(versionSegment):])
	if err != nil || op == "" {
		return "", badPath()
	}
	for from := 0; ; {
		i := strings.Index(path[from:], versionSegment)
		if i < 0 || from+i >= last {
			return op, nil
		}
		from += i + 1 // "/v1/v1/" holds the segment twice
		segment, _, _ := strings.Cut(path[from+len(versionSegment)-1:], "/")
		if earlier, err := url.PathUnescape(segment); err == nil && known(earlier) {
			return "", badPath()
		}
	}
}
