package lookup

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// place is where a page ended. List names the list that it is a place in.
type place struct {
	List  string   `json:"l"`
	Phase int      `json:"p,omitempty"`
	At    string   `json:"a,omitempty"`
	Path  []string `json:"w,omitempty"`
}

// listOf names a list by what was asked.
func listOf(asked ...string) string {
	h := sha256.New()
	for _, text := range asked {
		h.Write([]byte(text))
		h.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:9])
}

// maxPlace bounds what a caller may send as a place.
const maxPlace = 64 << 10

// after reads the place that a page goes on after; the zero one begins.
func after(cursor, list string) (at place, err error) {
	at.List = list
	if cursor == "" {
		return at, nil
	}
	refused := authz.Validation("after must be the next of a page of this very list: of the same question")
	if len(cursor) > maxPlace {
		return at, refused
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(text, &at) != nil || at.List != list || !at.possible() {
		return at, refused
	}
	return at, nil
}

// possible reports whether a page may end there: a caller may have made the place.
func (at place) possible() bool {
	return at.Phase >= 0 && at.Phase <= phaseOwn &&
		!slices.ContainsFunc(append([]string{at.At}, at.Path...), func(id string) bool { return strings.ContainsRune(id, 0) })
}

func (at place) cursor() (string, error) {
	text, err := json.Marshal(at)
	if err != nil {
		return "", err
	}
	if cursor := base64.RawURLEncoding.EncodeToString(text); len(cursor) <= maxPlace {
		return cursor, nil
	}
	return "", authz.Rejected(authz.CodeUnsupported, "the scopes lie too deep for a list in pages")
}
