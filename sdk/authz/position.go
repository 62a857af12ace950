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
type Position struct {
	Seq      int64  `json:"seq" read:"required,sequence"`
	Identity string `json:"identity,omitempty"`
}

// Is reports that both positions may be the same event's: the numbers are equal,
// and so are the identities unless one is unknown.
func (p Position) Is(q Position) bool {
	return p.Seq == q.Seq && (p.Identity == "" || q.Identity == "" || p.Identity == q.Identity)
}

func (p Position) String() string {
	if p.Identity == "" {
		return fmt.Sprint(p.Seq)
	}
	return fmt.Sprintf("%d (%s)", p.Seq, p.Identity)
}
