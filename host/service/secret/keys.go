package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// What a key is derived for. One is never used for another.
const (
	PurposeProviderSecret = "provider-secret"
	PurposeOIDC           = "oidc"
	PurposeCSRF           = "csrf"
	PurposeCursor         = "cursor"
)

// KeyLength is that of a host key, in bytes.
const KeyLength = 32

const identity = "id" // derives a key's public id

// Keys are the host keys, the same on every host. The newest seals; all open.
type Keys struct {
	keys []hostKey
}

type hostKey struct {
	id  string
	raw []byte
}

// Sealed is an encrypted secret as it is stored.
type Sealed struct {
	KeyID string `json:"keyId"`
	Data  []byte `json:"data"` // nonce and ciphertext
}

// NewKeys takes the host keys, newest first, each of KeyLength random bytes.
func NewKeys(raw [][]byte) (*Keys, error) {
	if len(raw) == 0 {
		return nil, errors.New("no host key")
	}
	k := &Keys{}
	for i, key := range raw {
		if len(key) != KeyLength {
			return nil, fmt.Errorf("host key %d has %d bytes, not %d", i+1, len(key), KeyLength)
		}
		h := hostKey{raw: slices.Clone(key)}
		h.id = hex.EncodeToString(h.derive(identity)[:8])
		if k.Has(h.id) {
			return nil, fmt.Errorf("host key %d is listed twice", i+1)
		}
		k.keys = append(k.keys, h)
	}
	return k, nil
}

// Current is the id of the key that seals.
func (k *Keys) Current() string { return k.keys[0].id }

// Has tells whether a stored key id is in the list; when one is not, start is
// refused.
func (k *Keys) Has(id string) bool {
	return slices.ContainsFunc(k.keys, func(h hostKey) bool { return h.id == id })
}

// Seal encrypts under the newest key. additional must be given again to open, and
// names the record, so that a ciphertext copied into another one does not open.
func (k *Keys) Seal(purpose string, plaintext, additional []byte) (Sealed, error) {
	h := k.keys[0]
	aead, err := h.aead(purpose)
	if err != nil {
		return Sealed{}, err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails: crypto/rand ends the program instead
	return Sealed{KeyID: h.id, Data: aead.Seal(nonce, nonce, plaintext, h.bound(additional))}, nil
}

// Open decrypts what Seal made with the same purpose and additional data.
func (k *Keys) Open(purpose string, s Sealed, additional []byte) ([]byte, error) {
	for _, h := range k.keys {
		if h.id != s.KeyID {
			continue
		}
		aead, err := h.aead(purpose)
		if err != nil {
			return nil, err
		}
		if len(s.Data) < aead.NonceSize() {
			return nil, errors.New("the sealed secret is cut off")
		}
		plain, err := aead.Open(nil, s.Data[:aead.NonceSize()], s.Data[aead.NonceSize():], h.bound(additional))
		if err != nil {
			return nil, errors.New("the sealed secret does not open: it was changed, or belongs to another record")
		}
		return plain, nil
	}
	return nil, fmt.Errorf("host key %s is not in service.host_keys", s.KeyID)
}

// Stale tells whether s should be sealed again, since a newer key is first.
func (k *Keys) Stale(s Sealed) bool { return s.KeyID != k.Current() }

// MAC authenticates parts, in their order and with their borders, under the newest
// key.
func (k *Keys) MAC(purpose string, parts ...[]byte) []byte { return k.keys[0].mac(purpose, parts) }

// Verify tells in constant time whether mac is that of the parts under any key of
// the list, so that a new first key ends no session and no listing.
func (k *Keys) Verify(purpose string, mac []byte, parts ...[]byte) bool {
	ok := false
	for _, h := range k.keys {
		ok = hmac.Equal(mac, h.mac(purpose, parts)) || ok
	}
	return ok
}

// Additional joins the names of a record to additional data, with their borders.
func Additional(names ...string) []byte {
	var out []byte
	for _, name := range names {
		out = framed(out, []byte(name))
	}
	return out
}

func framed(to, part []byte) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(len(part)))
	return append(to, part...)
}

func (h hostKey) derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, h.raw, nil, purpose, KeyLength)
	if err != nil {
		panic("secret: " + err.Error()) // lengths are constants that HKDF admits
	}
	return key
}

func (h hostKey) aead(purpose string) (cipher.AEAD, error) {
	block, err := aes.NewCipher(h.derive(purpose))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (h hostKey) bound(additional []byte) []byte {
	return append(framed(nil, []byte(h.id)), additional...)
}

func (h hostKey) mac(purpose string, parts [][]byte) []byte {
	m := hmac.New(sha256.New, h.derive(purpose))
	for _, part := range parts {
		m.Write(framed(nil, part))
	}
	return m.Sum(nil)
}
