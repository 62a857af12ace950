package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
)

// Follow is the identity of the events that a commit appends behind one with the
// identity before: the first 16 bytes of a SHA-256 over it, the commit's id and
// its last number, as hex. All events of a commit have the same one, so that one
// identity vouches for all that came before it. Readers compute it too: with the
// identity of an event they know whether a commit came right behind it.
func Follow(before, commit string, last int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", before, commit, last))
	return hex.EncodeToString(sum[:16])
}

// After is the empty page behind a position of a log that was pruned through mark
// and ends at head. identity is that of the event with the position's number, ""
// when it is not known. A page with Gap or Reset is the answer, any other is to be
// filled.
func After(after, mark, head authz.Position, identity string) EventPage {
	switch after.Seq {
	case head.Seq:
		identity = head.Identity
	case mark.Seq:
		identity = mark.Identity
	}
	switch {
	case after.Seq < mark.Seq:
		return EventPage{Gap: true}
	case after.Identity != "" && after.Seq > head.Seq, !after.Is(authz.Position{Seq: after.Seq, Identity: identity}):
		return EventPage{Reset: true}
	case after.Identity == "":
		after.Identity = identity
	}
	return EventPage{UpTo: after}
}
