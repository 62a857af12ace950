package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/sdk/provider"
)

// minSecret is how many characters a secret has at least, apart from white space
// around it.
const minSecret = 16

func strongSecret(secret string) bool {
	return utf8.RuneCountInString(strings.TrimSpace(secret)) >= minSecret
}

// checkSecrets refuses a list that is empty or holds a weak secret, without
// repeating it.
func checkSecrets(secrets []string) error {
	if len(secrets) == 0 {
		return fmt.Errorf("a provider handler needs at least one secret")
	}
	for i, s := range secrets {
		if !strongSecret(s) {
			return fmt.Errorf("secret %d is shorter than %d characters", i+1, minSecret)
		}
	}
	return nil
}

func unauthorized() error {
	return &provider.APIError{Code: provider.Unauthorized, Message: "unauthorized"}
}

// keyring is the secrets that open, with the digests that are compared.
type keyring struct {
	secrets []string // all, as they were given
	digests [][sha256.Size]byte
}

func newKeyring(secrets []string) *keyring {
	k := &keyring{secrets: slices.Clone(secrets)}
	for _, secret := range secrets {
		if strongSecret(secret) { // a weak one that rotation brought in opens nothing
			k.digests = append(k.digests, sha256.Sum256([]byte(secret)))
		}
	}
	return k
}

// authenticate compares digests in constant time and always with every secret,
// so that neither length nor content of a wrong token, nor which secret matched,
// shows in the time it takes.
func (k *keyring) authenticate(r *http.Request) bool {
	headers := r.Header["Authorization"]
	if len(headers) != 1 || headers[0] == "" {
		return false
	}
	var short [128]byte // as long as most are
	token := sha256.Sum256(append(short[:0], strings.TrimPrefix(headers[0], "Bearer ")...))
	matched := 0
	for i := range k.digests {
		matched |= subtle.ConstantTimeCompare(token[:], k.digests[i][:])
	}
	return matched == 1
}
