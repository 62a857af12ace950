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

// Limited are secrets that do not open everything: Read what changes nothing but the
// export of the organization as a whole, Check the questions of programs that guard
// something (spec: provider-api §3).
type Limited struct {
	Read, Check []string

	// Lookups lets Check ask for lists of who may, where and what, too.
	Lookups bool
}

// purpose is what a secret is for; of one that is in several lists, all of it.
type purpose int

const (
	forAll purpose = 1 << iota
	forRead
	forCheck
	forLookups // beside forCheck
)

// asking are the operations of a secret for checks.
var asking = map[string]bool{"ping": true, "capabilities": true, "check": true, "explain": true}

// lookups are those of one that may also ask for lists.
var lookups = map[string]bool{"listSubjects": true, "listScopes": true, "listKeys": true}

// admits tells whether a secret of the purpose may ask for an operation.
func (p purpose) admits(op *provider.Operation) bool {
	switch {
	case p&forAll != 0:
		return true
	case p&forRead != 0:
		return op.Kind == provider.Read && op.Op != "exportOrgSnapshot"
	}
	return asking[op.Op] || p&forLookups != 0 && lookups[op.Op]
}

// rowless says that whoever asks may not know rows.
func (p purpose) rowless() bool { return p&(forAll|forRead|forLookups) == 0 }

// refuses names the list of the secrets that open the operation.
func (p purpose) refuses(op *provider.Operation) error {
	is := "asks with check, explain, ping and capabilities"
	if p&forRead != 0 {
		is = "reads, and not the organization as a whole"
	}
	wanted := "provider.secrets"
	if forRead.admits(op) {
		wanted = "provider.read_secrets"
	}
	return &provider.APIError{Code: provider.Forbidden, Message: fmt.Sprintf("this secret %s: %s takes another one, of `%s`", is, op.Op, wanted)}
}

// keyring is the secrets that open, with the digests that are compared.
type keyring struct {
	secrets  []string // as they were given
	limited  Limited
	digests  [][sha256.Size]byte
	purposes []purpose // of the digests
}

func newKeyring(secrets []string, limited Limited) *keyring {
	k := &keyring{secrets: slices.Clone(secrets), limited: Limited{slices.Clone(limited.Read), slices.Clone(limited.Check), limited.Lookups}}
	asks := forCheck
	if limited.Lookups {
		asks |= forLookups
	}
	for _, list := range []struct {
		secrets []string
		of      purpose
	}{{secrets, forAll}, {limited.Read, forRead}, {limited.Check, asks}} {
		for _, secret := range list.secrets {
			if strongSecret(secret) { // a weak one that rotation brought in opens nothing
				k.digests, k.purposes = append(k.digests, sha256.Sum256([]byte(secret))), append(k.purposes, list.of)
			}
		}
	}
	return k
}

func (k *keyring) of(secrets []string, limited Limited) bool {
	return slices.Equal(k.secrets, secrets) && slices.Equal(k.limited.Read, limited.Read) && slices.Equal(k.limited.Check, limited.Check) && k.limited.Lookups == limited.Lookups
}

// authenticate is what the secret of the request is for, 0 for none. It compares digests
// in constant time and always with every secret, so that neither length nor content of a
// wrong token, nor which secret matched, shows in the time it takes.
func (k *keyring) authenticate(r *http.Request) purpose {
	headers := r.Header["Authorization"]
	if len(headers) != 1 || headers[0] == "" {
		return 0
	}
	var short [128]byte // as long as most are
	token := sha256.Sum256(append(short[:0], strings.TrimPrefix(headers[0], "Bearer ")...))
	var matched purpose
	for i := range k.digests {
		matched |= k.purposes[i] * purpose(subtle.ConstantTimeCompare(token[:], k.digests[i][:]))
	}
	return matched
}
