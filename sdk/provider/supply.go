package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Capabilities says what an application can do.
type Capabilities struct {
	OrgRoot     bool `json:"orgRoot"`
	Requests    bool `json:"requests"`
	Reporting   bool `json:"reporting"`
	Audit       bool `json:"audit"`
	MultiParent bool `json:"multiParent"`
	Metrics     bool `json:"metrics"`
	Imports     bool `json:"imports"`
}

// Supply is what evaluation needs of a provider.
type Supply interface {
	// GetSubjectAccess supplies the closure of a principal and its rows, all of
	// one instant. Rows that have expired on the supplier's clock are left out.
	GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error)

	// ResolveAncestors answers the ancestors of a scope, nearest first, without
	// the scope itself, ending at "*". A failure is an error, never a partial
	// chain.
	ResolveAncestors(ctx context.Context, scope string) ([]string, error)
}

// Invalidation is how caches learn of writes.
type Invalidation interface {
	// OnInvalidate calls listener for every event of this process, in order,
	// before the write that caused it returns. The result unsubscribes and may
	// be called twice.
	OnInvalidate(listener func(authz.Event)) (unsubscribe func())

	// EventLog is the persisted event log, nil when events are not persisted.
	EventLog() EventLog
}

// EventLog reads the persisted event log, or several as one. Their positions are then
// composite: whether one covers another is never told by their numbers
// (authz.Position.Covers).
type EventLog interface {
	Head(ctx context.Context) (EventLogHead, error)

	// Since returns events after a position. A limit that is not positive means
	// DefaultEventLimit; more than MaxEventLimit means MaxEventLimit.
	Since(ctx context.Context, after authz.Position, limit int) (EventLogPage, error)
}

// The names of before.
//
// Deprecated: use EventLog, EventLogHead and EventLogPage.
type (
	Epoch     = EventLog
	EpochHead = EventLogHead
	EpochPage = EventLogPage
)

// Losing is a provider that is told of a position which its own log no longer has:
// events that were there are gone, or their numbers were given again. It makes
// sure of that, and then treats its store as lost.
type Losing interface {
	LostPosition(ctx context.Context, log string, at authz.Position)
}

// Bounds of a page of events.
const (
	DefaultEventLimit = 500
	MaxEventLimit     = 5000
)

// EventLogHead is the newest event and the log it belongs to. Another Log than before
// means: drop everything held.
type EventLogHead struct {
	authz.Position
	Log string `json:"log,omitempty"`
}

// EventLogPage is a page of the log, a gap: events after the cursor are gone, or a
// reset: the cursor is no position of this log. After both a reader drops everything
// it holds.
type EventLogPage struct {
	UpTo   authz.Position
	Events []authz.Event
	Gap    bool
	Reset  bool
}

func (p EventLogPage) MarshalJSON() ([]byte, error) {
	switch {
	case p.Gap:
		return []byte(`{"gap":true}`), nil
	case p.Reset:
		return []byte(`{"reset":true}`), nil
	}
	if p.Events == nil {
		p.Events = []authz.Event{}
	}
	return authz.Marshal(struct {
		UpTo     int64         `json:"upTo"`
		Identity string        `json:"identity,omitempty"`
		Events   []authz.Event `json:"events"`
	}{p.UpTo.Seq, p.UpTo.Identity, p.Events})
}

// Ping is what the far side says of itself.
type Ping struct {
	API         int    `json:"api"`
	Application string `json:"application"`
	OrgRoot     bool   `json:"orgRoot"`
	HasEventLog bool   `json:"hasEpoch"`
	AuditOptIn  bool   `json:"auditOptIn"`
}

type (
	getSubjectAccessIn struct {
		Principal authz.Principal `json:"principal" read:"required"`
	}
	resolveAncestorsIn struct {
		Scope string `json:"scope" read:"required,target"`
	}
	ancestorsOut struct {
		Ancestors []string `json:"ancestors"`
	}
	eventLogSinceIn struct {
		authz.Position
		Limit int64 `json:"limit,omitempty" doc:"Absent or not positive means 500; more than 5000 means 5000."`
	}
)

var opPing = declare[none, Ping](Operation{Op: "ping", Kind: Read, Lenient: true,
	Tag: "transport", Summary: "Name the application and the version of the API", Answer: "The application."}, nil)

var opCapabilities = declare(Operation{Op: "capabilities", Kind: Read, Method: "Capabilities", Lenient: true,
	Tag: "capabilities", Summary: "Say what the application can do", Answer: "Facts about construction and content."},
	func(ctx context.Context, to Provider, _ *none) (Capabilities, error) { return to.Capabilities(ctx) })

func (c Calls) Capabilities(ctx context.Context) (Capabilities, error) {
	return ask(ctx, c, opCapabilities, none{})
}

var opGetSubjectAccess = declare(Operation{Op: "getSubjectAccess", Kind: Read, Method: "GetSubjectAccess",
	Tag: "closure-supply", Summary: "Supply the closure of a principal and every row that evaluation needs",
	Answer: "All of one instant; rows that have expired are left out."},
	func(ctx context.Context, to Provider, in *getSubjectAccessIn) (authz.SubjectAccess, error) {
		if err := in.Principal.Validate(); err != nil {
			return authz.SubjectAccess{}, err
		}
		return to.GetSubjectAccess(ctx, in.Principal)
	})

func (c Calls) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	if err := p.Validate(); err != nil {
		return authz.SubjectAccess{}, err
	}
	return ask(ctx, c, opGetSubjectAccess, getSubjectAccessIn{p})
}

var opResolveAncestors = declare(Operation{Op: "resolveAncestors", Kind: Read, Method: "ResolveAncestors",
	Tag: "closure-supply", Summary: "List the ancestors of a scope", Answer: "Nearest first, without the scope itself, ending at `*`."},
	func(ctx context.Context, to Provider, in *resolveAncestorsIn) (ancestorsOut, error) {
		ancestors, err := to.ResolveAncestors(ctx, in.Scope)
		return ancestorsOut{orNone(ancestors)}, err
	})

func (c Calls) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	out, err := ask(ctx, c, opResolveAncestors, resolveAncestorsIn{scope})
	return out.Ancestors, err
}

const withoutEventLog = "`unsupported` where events are not persisted (`ping.hasEpoch`)."

// errNoEventLog is what an application answers that keeps no log of events.
func errNoEventLog() error {
	return authz.Rejected(authz.CodeUnsupported, "this application does not persist events (events.persist is off)")
}

var opEventLogHead = declare(Operation{Op: "epoch.head", Kind: Read, Requires: FeatureEventLog,
	Tag: "epoch", Summary: "Tell the newest position of the event log", Notes: withoutEventLog, Answer: "The head; `seq` is 0 of an empty log."},
	func(ctx context.Context, to Provider, _ *none) (EventLogHead, error) {
		log := to.EventLog()
		if log == nil {
			return EventLogHead{}, errNoEventLog()
		}
		return log.Head(ctx)
	})

var opEventLogSince = declare(Operation{Op: "epoch.since", Kind: Read, Requires: FeatureEventLog,
	Tag: "epoch", Summary: "Read the events after a position", Notes: withoutEventLog, Answer: "The events, a gap or a reset."},
	func(ctx context.Context, to Provider, in *eventLogSinceIn) (EventLogPage, error) {
		log := to.EventLog()
		if log == nil {
			return EventLogPage{}, errNoEventLog()
		}
		return log.Since(ctx, in.Position, int(max(0, min(in.Limit, MaxEventLimit))))
	})
