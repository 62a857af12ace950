package authz

import "fmt"

// Position is a place in an application's event log: the number of an event and the
// identity that it was given with the number. Seq 0 is before the first event and
// has no identity.
//
// A number alone does not name an event: a database that was restored, or whose
// promoted standby lacked the last commits, gives the same numbers again. Whoever
// keeps a position keeps both members. An Identity "" is unknown, as of events
// that were written before identities were, and then the number alone counts.
//
// Where several logs are read as one, the position is composite: see Composite.
type Position struct {
	Seq      int64  `json:"seq" read:"required,sequence"`
	Identity string `json:"identity,omitempty"`
}

// Is reports that both positions may be the same event's: the numbers are equal,
// and so are the identities unless one is unknown. Composite positions have no
// unknown identity.
func (p Position) Is(q Position) bool {
	unknown := p.Identity == "" && !q.IsComposite() || q.Identity == "" && !p.IsComposite()
	return p.Seq == q.Seq && (unknown || p.Identity == q.Identity)
}

// Covers reports that whoever has accounted for every event up to p has accounted for
// every event up to q. Of composite positions each term must. It is false as well
// where the positions say nothing of each other: one of them is composite and
// the other is not, or their logs are not the same. Of a log that lost events only the
// numbers are compared; Is tells events apart.
func (p Position) Covers(q Position) bool {
	if !p.IsComposite() && !q.IsComposite() {
		return p.Seq >= q.Seq
	}
	have, ok := p.Composite()
	want, known := q.Composite()
	if !ok || !known || have.Logs != want.Logs || len(have.Terms) != len(want.Terms) {
		return false
	}
	for i := range want.Terms {
		if have.Terms[i].Seq < want.Terms[i].Seq {
			return false
		}
	}
	return true
}

func (p Position) String() string {
	if p.Identity == "" {
		return fmt.Sprint(p.Seq)
	}
	return fmt.Sprintf("%d (%s)", p.Seq, p.Identity)
}
