package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"hash/crc32"
	"strings"
)

// The prefixes of tokens.
const (
	PrefixAdmin     = "authz_adm_"
	PrefixPrincipal = "authz_prn_"
	PrefixPublisher = "authz_pub_"
	PrefixSession   = "authz_ses_"
	PrefixProvider  = "authz_prv_"
)

const (
	idLength     = 16
	secretLength = 43 // base62, just above 256 bits
	crcLength    = 6
	hintLength   = 4

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	idSet  = "abcdefghijklmnopqrstuvwxyz234567"
)

// Token is the parts of <prefix><id>_<secret><crc>. ID is public and the key of a
// lookup.
type Token struct{ Prefix, ID, Secret string }

// NewToken makes a token, and its text.
func NewToken(prefix string) (Token, string) {
	var raw [idLength * 5 / 8]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return RenewToken(prefix, base32.NewEncoding(idSet).WithPadding(base32.NoPadding).EncodeToString(raw[:]))
}

// RenewToken makes a token of another secret under an id.
func RenewToken(prefix, id string) (Token, string) {
	t := Token{Prefix: prefix, ID: id, Secret: randomSecret()}
	text := t.Prefix + t.ID + "_" + t.Secret
	return t, text + checksum(text)
}

// ParseToken tells the kind and the lookup key of a well-formed token; its secret
// is proved by Matches only.
func ParseToken(text string) (prefix, id string, ok bool) {
	for _, p := range []string{PrefixAdmin, PrefixPrincipal, PrefixPublisher, PrefixSession, PrefixProvider} {
		rest, found := strings.CutPrefix(text, p)
		if !found {
			continue
		}
		body := len(text) - crcLength
		if len(rest) != idLength+1+secretLength+crcLength || rest[idLength] != '_' ||
			!consists(rest[:idLength], idSet) || !consists(rest[idLength+1:], base62) ||
			checksum(text[:body]) != text[body:] {
			return "", "", false
		}
		return p, rest[:idLength], true
	}
	return "", "", false
}

// Hash is the SHA-256 of a whole token: what is kept at rest.
func Hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Matches compares a token with a stored hash in constant time.
func Matches(text string, hash []byte) bool {
	return subtle.ConstantTimeCompare(Hash(text), hash) == 1
}

// Hint is what listings show of a token: prefix, id and the last four characters.
// Of text that is no token nothing is shown.
func Hint(text string) string {
	prefix, id, ok := ParseToken(text)
	if !ok {
		return ""
	}
	return prefix + id + "…" + text[len(text)-hintLength:]
}

func consists(text, set string) bool {
	for _, c := range []byte(text) {
		if strings.IndexByte(set, c) < 0 {
			return false
		}
	}
	return true
}

func randomSecret() string {
	const even = 256 - 256%len(base62) // bytes from here on would favour some characters
	out := make([]byte, 0, secretLength)
	var pool [64]byte
	for len(out) < secretLength {
		_, _ = rand.Read(pool[:])
		for _, b := range pool {
			if int(b) < even && len(out) < secretLength {
				out = append(out, base62[int(b)%len(base62)])
			}
		}
	}
	return string(out)
}

func checksum(text string) string {
	n := crc32.ChecksumIEEE([]byte(text))
	var out [crcLength]byte
	for i := crcLength - 1; i >= 0; i-- {
		out[i] = base62[n%uint32(len(base62))]
		n /= uint32(len(base62))
	}
	return string(out[:])
}
