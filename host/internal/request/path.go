package request

import (
	"net/http"
	"strings"
)

// Path is the path as it was sent, without its query: nothing decoded, nothing
// cleaned. A URL does not keep it where it holds characters that belong escaped: it
// gives those back with %2F turned into a slash.
func Path(r *http.Request) string {
	path := r.RequestURI
	if path == "" { // a request that no server read
		return r.URL.EscapedPath()
	}
	path, _, _ = strings.Cut(path, "?")
	if scheme, rest, absolute := strings.Cut(path, "://"); absolute && !strings.Contains(scheme, "/") {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			return rest[i:]
		}
		return "/"
	}
	return path
}
