package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/internal/request"
	"github.com/authzhost/authz/host/listen"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/provider"
)

// versionSegment stands between the mount point and the operation.
const versionSegment = "/v1/"

// rawPath is the path of a request as it was sent, without query and fragment.
func rawPath(r *http.Request) string {
	path, _, _ := strings.Cut(request.Path(r), "#")
	return path
}

func postOnly(r *http.Request) error {
	if r.Method != http.MethodPost {
		return &provider.APIError{Code: provider.MethodNotAllowed, Message: "POST only"}
	}
	return nil
}

// largeHeaders tells that a request's line and headers are larger than is admitted.
func largeHeaders(r *http.Request) bool {
	return len(r.RequestURI)+listen.HeaderSize(r.Header) > listen.MaxHeaders
}

func errLargeHeaders() error {
	return &provider.APIError{Code: provider.PayloadTooLarge,
		Message: "the request's headers are larger than " + strconv.Itoa(listen.MaxHeaders) + " bytes"}
}

func badPath() error {
	return &provider.APIError{Code: provider.UnknownOp, Message: "expected a path of the form {base}/v1/{op}"}
}

func unknownOp(op string) error {
	return &provider.APIError{Code: provider.UnknownOp, Message: "unknown operation " + spell.Quote(op)}
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
