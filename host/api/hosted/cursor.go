package hosted

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	cursorLifetimeMs = 24 * 60 * 60 * 1000
	defaultLimit     = 100
)

// place is what a cursor carries.
type place struct {
	After string `json:"a"`
	At    int64  `json:"t"` // when it was made
}

const macLength = 32

// cursors makes and reads cursors; they hold for one path and one set of filters.
type cursors struct {
	keys  *secret.Keys
	clock func() int64
}

func (c cursors) write(scope []byte, after string) (*string, error) {
	if after == "" {
		return nil, nil
	}
	payload, err := authz.Marshal(place{After: after, At: c.clock()})
	if err != nil {
		return nil, err
	}
	mac := c.keys.MAC(secret.PurposeCursor, scope, payload)
	text := base64.RawURLEncoding.EncodeToString(append(mac, payload...))
	return &text, nil
}

func (c cursors) read(scope []byte, text string) (string, *fault.Error) {
	invalid := fault.Cloud("invalid_cursor", "the cursor is not one of this list, or has expired; begin again without it")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) <= macLength {
		return "", invalid
	}
	mac, payload := raw[:macLength], raw[macLength:]
	if !c.keys.Verify(secret.PurposeCursor, mac, scope, payload) {
		return "", invalid
	}
	var p place
	if json.Unmarshal(payload, &p) != nil || p.After == "" || c.clock()-p.At > cursorLifetimeMs {
		return "", invalid
	}
	return p.After, nil
}

// cursorScope is what a cursor is bound to: the path with its values, and the
// query without paging. limit may change from page to page.
func cursorScope(endpointPath string, values map[string]string, parameters []string, rawQuery string) []byte {
	h := sha256.New()
	write := func(s string) { h.Write([]byte(s)); h.Write([]byte{0}) }
	write(endpointPath)
	for _, name := range parameters {
		write(values[name])
	}
	query, _ := url.ParseQuery(rawQuery)
	query.Del("cursor")
	query.Del("limit")
	write(query.Encode())
	return h.Sum(nil)
}

// parseETags reads a conditional header; any is true for "*". With weak a weak tag
// counts as its own, else it is none that an object has: If-Match compares strongly.
func parseETags(header []string, weak bool) (tags []string, any bool) {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		switch part = strings.TrimSpace(part); part {
		case "":
		case "*":
			any = true
		default:
			if weak {
				part = strings.TrimPrefix(part, "W/")
			}
			tags = append(tags, part)
		}
	}
	return tags, any
}
