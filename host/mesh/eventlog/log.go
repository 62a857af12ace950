package eventlog

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Log reads several logs as one. Its positions are composite and name the place in each
// log, so that it keeps nothing of those that it gave out: any process that reads
// the same logs goes on from them. It is safe for concurrent use.
type Log struct{ parts Parts }

var (
	_ provider.EventLog = (*Log)(nil)
	_ provider.Losing   = (*Log)(nil)
)

// Compose makes one log of several. The parts are asked for at every call, and another
// set of them is another log.
func Compose(parts Parts) *Log { return &Log{parts} }

// Head answers the sum of the heads, and fails when one of them cannot be read.
func (l *Log) Head(ctx context.Context) (provider.EventLogHead, error) {
	now, err := l.read(ctx)
	if err != nil {
		return provider.EventLogHead{}, err
	}
	at, err := now.position()
	return provider.EventLogHead{Position: at, Log: now.Logs.String()}, err
}

// Since answers events after a position of these logs, log after log, translated for
// the reader. The limit is of the logs' events: what a translation adds, one event for
// each log at most, is not counted. A position of other logs, or of another life of one,
// is a gap, whatever its number is; one that one of the logs has lost is a reset.
func (l *Log) Since(ctx context.Context, after authz.Position, limit int) (provider.EventLogPage, error) {
	now, err := l.read(ctx)
	if err != nil {
		return provider.EventLogPage{}, err
	}
	terms := now.terms(after)
	if terms == nil {
		return provider.EventLogPage{Gap: true}, nil
	}
	if limit <= 0 {
		limit = provider.DefaultEventLimit
	}
	return now.since(ctx, terms, min(limit, provider.MaxEventLimit))
}

// reading is the logs with their heads, read side by side.
type reading struct {
	authz.Composite
	parts []Part
	logs  []string // their incarnations
}

// headsAtOnce bounds how many heads are read side by side.
const headsAtOnce = 16

// maxLooks bounds how often the logs are read because other ones belong together now.
const maxLooks = 3

// read reads the logs that belong together once their heads are known: the registry, whose
// log is among them, may have moved while they were read.
func (l *Log) read(ctx context.Context) (*reading, error) {
	parts, err := l.parts.read(ctx)
	if err != nil {
		return nil, err
	}
	for look := 1; ; look++ {
		r, err := readParts(ctx, parts)
		if err != nil {
			return nil, err
		}
		now, err := l.parts.read(ctx)
		if err != nil || look == maxLooks || slices.EqualFunc(parts, now, samePart) {
			return r, err
		}
		parts = now
	}
}

func samePart(a, b Part) bool { return a.Kind == b.Kind && a.Partition == b.Partition }

func readParts(ctx context.Context, parts []Part) (*reading, error) {
	r := &reading{parts: parts, logs: make([]string, len(parts))}
	r.Terms = make([]authz.Position, len(parts))
	for i := range parts {
		if err := parts[i].logged(); err != nil {
			return nil, err
		}
	}
	heads, ctx := errgroup.WithContext(ctx)
	heads.SetLimit(headsAtOnce)
	for i := range parts {
		heads.Go(func() (err error) {
			r.Terms[i], r.logs[i], err = parts[i].head(ctx)
			return err
		})
	}
	if err := heads.Wait(); err != nil {
		return nil, err
	}
	words := make([]string, 0, 3*len(parts))
	for i, part := range parts {
		words = append(words, part.Kind.String(), part.Partition, r.logs[i])
	}
	r.Logs = authz.NewLogSet(words...)
	return r, nil
}

// head runs on a goroutine of its own, where a panic would end the process.
func (p Part) head(ctx context.Context) (at authz.Position, log string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = p.failed(fmt.Errorf("panic: %v", r))
		}
	}()
	head, err := p.Log.Head(ctx)
	if err != nil {
		return at, "", p.failed(err)
	}
	return head.Position, head.Log, nil
}

// terms takes a position of these logs apart; nil when it is none.
func (r *reading) terms(at authz.Position) []authz.Position {
	c, ok := at.Composite()
	if !ok || c.Logs != r.Logs || len(c.Terms) != len(r.parts) {
		return nil
	}
	return c.Terms
}

func (r *reading) position() (authz.Position, error) { return r.Composite.Position() }

// lost reports that log i no longer has a place, as far as its head tells.
func (r *reading) lost(i int, at authz.Position) bool {
	head := r.Terms[i]
	return head.Seq < at.Seq || head.Seq == at.Seq && !head.Is(at)
}

// since reads each log from its own place. Only the limit ends it before the heads, and
// a missing number, which ends what is read of that log.
func (r *reading) since(ctx context.Context, terms []authz.Position, limit int) (provider.EventLogPage, error) {
	var events []authz.Event
	gap := false
	for i, head := range r.Terms {
		switch {
		case r.lost(i, terms[i]):
			return provider.EventLogPage{Reset: true}, nil
		case terms[i].Seq == head.Seq:
			terms[i] = head // the same event, whose identity may be known by now
		}
	}
	for i, part := range r.parts {
		if limit == 0 || terms[i].Seq == r.Terms[i].Seq {
			continue
		}
		page, err := part.Log.Since(ctx, terms[i], limit)
		switch {
		case err != nil:
			return provider.EventLogPage{}, part.failed(err)
		case page.Reset:
			return page, nil
		case page.Gap:
			gap = true // the others may have lost their places
		default:
			terms[i], limit = page.UpTo, max(0, limit-len(page.Events))
			events = append(events, part.translate(page.Events)...)
		}
	}
	if gap {
		return provider.EventLogPage{Gap: true}, nil
	}
	at, err := authz.Composite{Logs: r.Logs, Terms: terms}.Position()
	return provider.EventLogPage{UpTo: at, Events: events}, err
}
