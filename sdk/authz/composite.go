package authz

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Composite is a place in each of several logs that are read as one. As a Position its
// number is the sum of theirs, and its identity is a stamp that any process can take
// apart again. Different places never have equal stamps, equal ones always do.
//
// The sum alone says little: 10 + 5 and 9 + 6 are different places. Compare with Is
// and Covers (spec: caching §10.1).
type Composite struct {
	Logs  LogSet
	Terms []Position // in the order of the logs that Logs names; none is composite
}

// LogSet names the logs of a composite, with the life of each and what it is to the
// reader. Another set than before means: drop everything held.
type LogSet [16]byte

// NewLogSet names the logs that the words tell of, in their order.
func NewLogSet(words ...string) LogSet {
	h := sha256.New()
	for _, w := range words {
		h.Write(binary.AppendUvarint(nil, uint64(len(w))))
		h.Write([]byte(w))
	}
	return LogSet(h.Sum(nil)[:len(LogSet{})])
}

func (s LogSet) String() string { return hex.EncodeToString(s[:]) }

// stampMark begins every identity that is a stamp; stampVersion follows it. No identity
// of an event begins so: those are hexadecimal.
const (
	stampMark    = "~"
	stampVersion = "1"
)

// Bounds of a composite. A stamp of the most terms, with identities of 16 bytes, is
// about 7 KB.
const (
	MaxTerms    = 256
	maxIdentity = 64
)

// Position is the composite as one position. It fails on terms that no stamp holds:
// composite ones, too many, identities that are too long, a sum above MaxInstant.
func (c Composite) Position() (Position, error) {
	if len(c.Terms) == 0 || len(c.Terms) > MaxTerms {
		return Position{}, fmt.Errorf("a composite position has 1 to %d terms, not %d", MaxTerms, len(c.Terms))
	}
	sum, stamp := int64(0), append(make([]byte, 0, len(c.Logs)+22*len(c.Terms)), c.Logs[:]...)
	for _, t := range c.Terms {
		if t.IsComposite() || len(t.Identity) > maxIdentity {
			return Position{}, fmt.Errorf("a term of a composite position is the position of one log, with an identity of at most %d bytes", maxIdentity)
		}
		if t.Seq < 0 || t.Seq > MaxInstant-sum {
			return Position{}, fmt.Errorf("the numbers of a composite position are out of range at %d + %d", sum, t.Seq)
		}
		sum += t.Seq
		stamp = appendTerm(stamp, t)
	}
	return Position{Seq: sum, Identity: stampMark + stampVersion + base64.RawURLEncoding.EncodeToString(stamp)}, nil
}

// appendTerm writes a number, the length of the identity with a bit that says whether
// it stands as the bytes that it is the hexadecimal form of, and the identity.
func appendTerm(to []byte, t Position) []byte {
	to = binary.AppendUvarint(to, uint64(t.Seq))
	if raw, err := hex.DecodeString(t.Identity); err == nil && hex.EncodeToString(raw) == t.Identity {
		return append(binary.AppendUvarint(to, uint64(len(raw))<<1|1), raw...)
	}
	return append(binary.AppendUvarint(to, uint64(len(t.Identity))<<1), t.Identity...)
}

// IsComposite reports that the position names places in several logs.
func (p Position) IsComposite() bool { return strings.HasPrefix(p.Identity, stampMark) }

// Composite takes the position apart. It is not ok of a position of one log, and of one
// that Composite.Position did not make, be it of a later version.
func (p Position) Composite() (c Composite, ok bool) {
	text, ok := strings.CutPrefix(p.Identity, stampMark+stampVersion)
	if !ok {
		return Composite{}, false
	}
	stamp, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(stamp) <= len(c.Logs) {
		return Composite{}, false
	}
	rest := stamp[copy(c.Logs[:], stamp):]
	for len(rest) > 0 {
		var t Position
		if t, rest, ok = cutTerm(rest); !ok {
			return Composite{}, false
		}
		c.Terms = append(c.Terms, t)
	}
	again, err := c.Position()
	return c, err == nil && again == p
}

func cutTerm(from []byte) (t Position, rest []byte, ok bool) {
	seq, n := binary.Uvarint(from)
	if n <= 0 || seq > uint64(MaxInstant) {
		return t, nil, false
	}
	form, m := binary.Uvarint(from[n:])
	rest = from[n+max(m, 0):]
	if m <= 0 || form>>1 > uint64(len(rest)) {
		return t, nil, false
	}
	identity, rest := rest[:form>>1], rest[form>>1:]
	if t = (Position{Seq: int64(seq), Identity: string(identity)}); form&1 == 1 {
		t.Identity = hex.EncodeToString(identity)
	}
	return t, rest, true
}
