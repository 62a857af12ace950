package orgroot

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Entry is a request with its home: nil at the org root, else the owner of its
// scope.
type Entry struct {
	Application *string       `json:"application"`
	Request     authz.Request `json:"request"`
}

// Unavailable is a source that could not be asked.
type Unavailable struct {
	Application string `json:"application"`
	Code        string `json:"code"`
}

// Inbox is a page of entries, newest first, with the sources that are missing from
// it.
type Inbox struct {
	List[Entry]
	Unavailable []Unavailable
}

// sourceTime is how long an inbox waits for one source.
const sourceTime = 5 * time.Second

// RequestFilter selects requests; nil members are absent. Mine overrides
// RequesterUserID; Decided are those that the caller decided a stage of. From is
// inclusive, To exclusive: when they were made.
type RequestFilter struct {
	Mine, Decided   bool
	State           *authz.RequestState
	RequesterUserID *string
	From, To        *int64
	Application     string // "" means the org root
}

func (f RequestFilter) selects(q authz.Request, user string) bool {
	return (!f.Decided || decided(q, user)) &&
		(f.From == nil || q.CreatedAt >= *f.From) && (f.To == nil || q.CreatedAt < *f.To)
}

// decided reports whether a user decided a stage.
func decided(q authz.Request, user string) bool {
	return user != "" && slices.ContainsFunc(q.Decisions, func(d authz.Decision) bool { return d.DecidedBy == user })
}

// Requests lists requests. It judges the gate itself: a seat for one's own and for those
// that one decided, else authz_internal.requests.read.
func (r *Root) Requests(ctx context.Context, a *service.Access, f RequestFilter, p Page) (Inbox, error) {
	q := provider.RequestQuery{State: f.State, RequesterUserID: f.RequesterUserID}
	if f.Mine {
		q.RequesterUserID = &a.Caller.UserID
	} else if !f.Decided {
		if err := r.require(ctx, a, keyRequests, false); err != nil {
			return Inbox{}, err
		}
	}
	return r.inbox(ctx, a.Org.ID, f.Application, p, func(ctx context.Context, to applications.Asked) iter.Seq2[authz.Request, error] {
		return only(to.Relay.ListRequests(ctx, q), func(found authz.Request) bool {
			return requestMatches(found, q) && f.selects(found, a.Caller.UserID)
		})
	})
}

func requestMatches(found authz.Request, q provider.RequestQuery) bool {
	return (q.State == nil || found.State == *q.State) && (q.RequesterUserID == nil || found.RequesterUserID == *q.RequesterUserID)
}

// Queue lists what the caller is entitled to decide now.
func (r *Root) Queue(ctx context.Context, a *service.Access, p Page) (Inbox, error) {
	return r.inbox(ctx, a.Org.ID, "", p, func(ctx context.Context, to applications.Asked) iter.Seq2[authz.Request, error] {
		return to.Relay.ListApproverQueue(ctx, a.Caller.UserID)
	})
}

// CountQueue counts what Queue lists, and tells of whom it could not be asked.
func (r *Root) CountQueue(ctx context.Context, a *service.Access) (int64, []Unavailable, error) {
	in, err := r.Queue(ctx, a, Page{Limit: math.MaxInt32})
	return int64(len(in.Rows)), in.Unavailable, err
}

// inbox asks the sources at the same time, each as long as it may take.
func (r *Root) inbox(ctx context.Context, org, application string, p Page, read func(context.Context, applications.Asked) iter.Seq2[authz.Request, error]) (Inbox, error) {
	sources, err := r.sources(ctx, org, application)
	if err != nil {
		return Inbox{}, err
	}
	found, missing := make([][]Entry, len(sources)), make([]*Unavailable, len(sources))
	err = eightAtATime(ctx, len(sources), func(ctx context.Context, i int) (err error) {
		found[i], missing[i], err = readSource(ctx, sources[i], application != "" || len(sources) > 1, read)
		return err
	})
	if err != nil {
		return Inbox{}, err
	}
	in := Inbox{Unavailable: []Unavailable{}}
	for _, m := range missing {
		if m != nil {
			in.Unavailable = append(in.Unavailable, *m)
		}
	}
	in.List = inMemory(slices.Concat(found...), p, func(e Entry) string {
		at := ""
		if e.Application != nil {
			at = "/" + *e.Application
		}
		return fmt.Sprintf("%019d/%s%s", math.MaxInt64-e.Request.CreatedAt, e.Request.ID, at)
	})
	return in, nil
}

// readSource reads the requests that are homed at a source. apart leaves out what an
// application holds of the org's: it is the root's to tell, or a copy of it.
func readSource(ctx context.Context, to applications.Asked, apart bool, read func(context.Context, applications.Asked) iter.Seq2[authz.Request, error]) ([]Entry, *Unavailable, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTime)
	defer cancel()
	var entries []Entry
	for row, err := range read(ctx, to) {
		if err != nil { // what came of it is not the whole
			missing, err := unanswered(to, err)
			return nil, missing, err
		}
		e := entryOf(to.ID, row)
		if !apart || to.Hosted() == (e.Application == nil) {
			entries = append(entries, e)
		}
	}
	return entries, nil, nil
}

// unanswered tells of a source that could not be asked; every other error is one.
func unanswered(to applications.Asked, err error) (*Unavailable, error) {
	if e := new(fault.Error); errors.As(err, &e) && e.Name == fault.TransportName {
		return &Unavailable{to.ID, e.Code}, nil
	}
	return nil, failed(err)
}

// sources are who is asked for an inbox: the application named; of a federated org the
// root and every member; else the root alone.
func (r *Root) sources(ctx context.Context, org, application string) ([]applications.Asked, error) {
	to, err := r.source(ctx, org, application)
	if err != nil || application != "" || !to.Hosted() {
		return []applications.Asked{to}, err
	}
	members, err := r.apps.Members(ctx, org)
	return append([]applications.Asked{to}, members...), err
}

func entryOf(application string, request authz.Request) Entry {
	if request.Scope == authz.Global {
		return Entry{Request: request}
	}
	return Entry{&application, request}
}

// source is who is asked about requests: the application named, else the org root.
func (r *Root) source(ctx context.Context, org, application string) (applications.Asked, error) {
	if application == "" {
		return r.apps.Root(ctx, org)
	}
	return r.apps.Linked(ctx, org, application)
}

// Submit files a request in the name of the caller, at the home of its scope.
func (r *Root) Submit(ctx context.Context, a *service.Access, in provider.RequestInput) (entry Entry, err error) {
	in.RequesterUserID = a.Caller.UserID
	h, err := r.home(ctx, a.Org.ID, in.Scope, in.Pattern, in.RoleID)
	if err != nil {
		return entry, err
	}
	if h == inAccount {
		return entry, rejected(authz.CodeValidation, "rows of account data cannot be requested")
	}
	err = r.at(ctx, a.Org.ID, h, func(to applications.Asked) error {
		request, err := to.Relay.SubmitRequest(ctx, in)
		entry = entryOf(to.ID, request)
		return err
	})
	return entry, err
}

// locate reads a request at the home that is named. found is false also when it is
// homed elsewhere.
func (r *Root) locate(ctx context.Context, org, id, application string) (to applications.Asked, entry Entry, found bool, err error) {
	if to, err = r.source(ctx, org, application); err != nil {
		return to, entry, false, err
	}
	for request, err := range to.Relay.ListRequests(ctx, provider.RequestQuery{}) {
		if err != nil {
			return to, entry, false, err
		}
		if request.ID == id {
			entry = entryOf(to.ID, request)
			return to, entry, (entry.Application == nil) == (application == ""), nil
		}
	}
	return to, entry, false, nil
}

// nobodyToAsk reports a home that is absent, not linked, or none.
func nobodyToAsk(err error) bool {
	e := new(fault.Error)
	return errors.As(err, &e) && e.Name == "CloudError"
}

// denies tells a denial from a gate that cannot be judged.
func denies(err error) bool {
	e := new(fault.Error)
	return errors.As(err, &e) && e.Name == "AccessDeniedError"
}

func noRequest() error { return rejected(authz.CodeNotFound, "request not found") }

// OneEntry is a request that is read alone. MayDecide tells that the caller is entitled to
// decide its stage now.
type OneEntry struct {
	Entry
	MayDecide bool `json:"mayDecide"`
}

// Request reads one request. It judges the gate itself: the requester, an approver
// who is entitled now or decided a stage, or authz_internal.requests.read; to all others
// a request that is not there is denied like one that is.
func (r *Root) Request(ctx context.Context, a *service.Access, id, application string) (OneEntry, error) {
	to, entry, found, err := r.locate(ctx, a.Org.ID, id, application)
	if nobodyToAsk(err) {
		if denied := r.require(ctx, a, keyRequests, false); denied != nil {
			return OneEntry{}, denied
		}
	}
	if err != nil {
		return OneEntry{}, err
	}
	user := a.Caller.UserID
	if found && user != "" && entry.Request.RequesterUserID == user {
		return OneEntry{Entry: entry}, nil // nobody decides their own
	}
	denied := r.require(ctx, a, keyRequests, false)
	if denied != nil && !denies(denied) {
		return OneEntry{}, denied
	}
	entitled := false
	if found && user != "" && entry.Request.State == authz.RequestPending {
		if entitled, err = queued(to.Relay.ListApproverQueue(ctx, user), id); err != nil {
			return OneEntry{}, err
		}
	}
	switch {
	case denied != nil && !entitled && !(found && decided(entry.Request, user)):
		return OneEntry{}, denied
	case !found:
		return OneEntry{}, noRequest()
	}
	return OneEntry{entry, entitled}, nil
}

func queued(rows iter.Seq2[authz.Request, error], id string) (bool, error) {
	list, err := taken(rows, Page{Limit: math.MaxInt - 1})
	return slices.ContainsFunc(list, func(q authz.Request) bool { return q.ID == id }), err
}

// What homes answer to whom a request does not concern.
const (
	notApprover  = "not an approver for the current stage"
	notRequester = "only the requester may cancel"
)

// DecideRequest decides the current stage in the name of the caller, whose entitlement is
// judged by the request's home.
func (r *Root) DecideRequest(ctx context.Context, a *service.Access, id, application string, in provider.DecisionInput) (Entry, error) {
	in.DeciderUserID = a.Caller.UserID
	return r.change(ctx, a, id, application, notApprover, func(to applications.Asked, e Entry) (authz.Request, error) {
		if e.Request.RequesterUserID == a.Caller.UserID {
			return authz.Request{}, rejected(authz.CodeValidation, "nobody decides their own request")
		}
		return to.Relay.DecideRequest(ctx, id, in)
	})
}

// CancelRequest withdraws a request of the caller's own.
func (r *Root) CancelRequest(ctx context.Context, a *service.Access, id, application string) (Entry, error) {
	return r.change(ctx, a, id, application, notRequester, func(to applications.Asked, _ Entry) (authz.Request, error) {
		return to.Relay.CancelRequest(ctx, id, a.Caller.UserID)
	})
}

// change changes a request where it lies. Which requests there are, and which
// applications, is for those to learn who may read requests: others are answered
// stranger, whether there is none or it is no concern of theirs.
func (r *Root) change(ctx context.Context, a *service.Access, id, application, stranger string, fn func(applications.Asked, Entry) (authz.Request, error)) (Entry, error) {
	to, entry, found, err := r.locate(ctx, a.Org.ID, id, application)
	hidden := application != "" && nobodyToAsk(err)
	if err == nil && !found {
		hidden, err = entry.Request.RequesterUserID != a.Caller.UserID, noRequest()
	}
	if hidden {
		switch refused := r.require(ctx, a, keyRequests, false); {
		case denies(refused):
			err = rejected(authz.CodeValidation, stranger)
		case refused != nil:
			err = refused
		}
	}
	if err != nil {
		return Entry{}, err
	}
	if entry.Request, err = fn(to, entry); err != nil {
		return Entry{}, err
	}
	return entry, nil
}
