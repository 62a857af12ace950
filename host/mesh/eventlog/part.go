package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Kind says what a log is to the application that reads it.
type Kind int

// The kinds of log. Those of an Owner are translated (spec: caching §10.1).
const (
	Own      Kind = iota + 1 // its own partition
	Org                      // the org partition
	Peer                     // a partition that it may reach
	Owner                    // one whose rows are merged into closures here; also the org partition, then
	Registry                 // the registry of the mesh
)

var kinds = map[Kind]string{Own: "own", Org: "org", Peer: "peer", Owner: "owner", Registry: "registry"}

func (k Kind) String() string { return kinds[k] }

// Part is the log of one partition.
type Part struct {
	Kind      Kind
	Partition string

	// Log is the partition's own log, which is not composite. Nil is a partition that
	// persists no events. Only a Poller passes over it, and only that of a Peer.
	Log provider.EventLog

	// Losing hears of positions that the log lost; nil where nobody is to.
	Losing provider.Losing

	// Hints yields a head whenever the log may have moved, for a Poller; nil has none.
	Hints func(context.Context) iter.Seq2[int64, error]
}

// Parts answers the logs as they are now: edges of a mesh come and go. Their order does
// not matter.
type Parts func(context.Context) ([]Part, error)

// Fixed are logs that are always the same.
func Fixed(parts ...Part) Parts {
	return func(context.Context) ([]Part, error) { return parts, nil }
}

// read answers the parts in the order of their partitions, each named once.
func (p Parts) read(ctx context.Context) ([]Part, error) {
	parts, err := p(ctx)
	if err != nil {
		return nil, err
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Partition, b.Partition) })
	for i, part := range parts {
		switch {
		case kinds[part.Kind] == "":
			return nil, authz.Validation("the event log of partition %q has no kind", part.Partition)
		case i > 0 && part.Partition == parts[i-1].Partition:
			return nil, authz.Validation("the event log of partition %q is named twice", part.Partition)
		}
	}
	return parts, nil
}

// logged refuses a part whose events nobody persists.
func (p Part) logged() error {
	if p.Log != nil {
		return nil
	}
	return authz.Rejected(authz.CodeUnsupported, "partition %q, which is read as %s, must persist its events (events.persist)", p.Partition, p.Kind)
}

func (p Part) failed(err error) error {
	return fmt.Errorf("the event log of partition %q: %w", p.Partition, err)
}

// translate makes of a batch of events what the caches of the reader are to hear.
func (p Part) translate(events []authz.Event) []authz.Event {
	if len(events) == 0 {
		return nil
	}
	switch {
	case p.Kind == Registry:
		return []authz.Event{{Type: authz.EventAll}}
	case p.Kind == Owner && !slices.ContainsFunc(events, everything) && slices.ContainsFunc(events, unnamed):
		return append(slices.Clip(events), authz.Event{Type: authz.EventAll})
	}
	return events
}

func everything(e authz.Event) bool { return e.Type == authz.EventAll }

// unnamed reports that closures with merged rows do not name what the event names: they
// know nothing of the groups, orgs and roles of the partition.
func unnamed(e authz.Event) bool {
	switch e.Type {
	case authz.EventUser, authz.EventScope, authz.EventAll:
		return false
	case authz.EventSubject:
		switch kind, _, _ := authz.ParseSubject(e.Subject); kind {
		case authz.SubjectUser, authz.SubjectService, authz.SubjectEveryone:
			return false
		}
	}
	return true
}
