package anchor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/sdk/authz"
)

// Log is one log with a chain. Head tells its newest chained entry: Count, Hash and
// Entry; Count 0 is that there is none. last is the anchor before, Count 0 the first
// time. A log that contradicts last, or whose chain is broken, is *Altered beside its
// head.
type Log struct {
	Name string
	Head func(ctx context.Context, last authz.AuditAnchor) (authz.AuditAnchor, error)
}

// Altered says what is wrong with a log. Its head is anchored all the same.
type Altered struct{ What string }

func (e *Altered) Error() string { return e.What }

// Options configure Start. All are required.
type Options struct {
	File     string
	Interval time.Duration
	Logs     func(ctx context.Context) ([]Log, error) // asked in every round
	Clock    func() int64
	Logger   hclog.Logger
}

// Anchors writes anchors until it is closed.
type Anchors struct {
	o    Options
	stop context.CancelFunc
	done sync.WaitGroup
	last map[string]authz.AuditAnchor // by log
	size int64                        // of the file after the last round
}

// Start refuses a file that is not the host's own, and begins with a first round.
func Start(o Options) (*Anchors, error) {
	a := &Anchors{o: o, last: map[string]authz.AuditAnchor{}}
	if err := a.resume(); err != nil {
		return nil, fmt.Errorf("audit.anchor.file: %w", err)
	}
	var life context.Context
	life, a.stop = context.WithCancel(context.Background())
	a.done.Go(func() { a.repeat(life) })
	return a, nil
}

func (a *Anchors) resume() error {
	f, info, err := open(a.o.File)
	if err != nil {
		return err
	}
	defer f.Close()
	anchors, bad, err := Read(f)
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		a.o.Logger.Warn("the file of anchors has lines that are no anchors", "file", a.o.File, "lines", bad)
	}
	for _, one := range anchors {
		a.last[one.Log] = one
	}
	a.size = info.Size()
	return nil
}

func (a *Anchors) repeat(ctx context.Context) {
	tick := time.NewTicker(a.o.Interval)
	defer tick.Stop()
	for {
		if err := a.round(ctx); err != nil && ctx.Err() == nil {
			a.o.Logger.Error("audit logs were not anchored; the next round tries again", "file", a.o.File, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends with a last round, which ctx bounds.
func (a *Anchors) Close(ctx context.Context) error {
	a.stop()
	a.done.Wait()
	if err := a.round(ctx); err != nil {
		return fmt.Errorf("the last anchors of the audit logs: %w", err)
	}
	return nil
}

// round anchors every log that has grown since the round before, all of them when the
// file began anew. A log that cannot be read keeps no other from its anchor.
func (a *Anchors) round(ctx context.Context) (err error) {
	f, info, err := open(a.o.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info.Size() < a.size {
		a.o.Logger.Error("the file of anchors has lost lines", "file", a.o.File, "bytes", info.Size(), "before", a.size)
	}
	logs, failed := a.o.Logs(ctx)
	var grown []authz.AuditAnchor
	for _, log := range logs {
		head, err := a.head(ctx, log)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", log.Name, err))
			continue
		}
		last := a.last[log.Name]
		if head.Count > 0 && (info.Size() == 0 || head.Count != last.Count || head.Hash != last.Hash) {
			grown = append(grown, head)
		}
	}
	if len(grown) == 0 {
		a.size = info.Size()
		return failed
	}
	if err := appendLines(f, info.Size(), grown); err != nil {
		return errors.Join(failed, err)
	}
	if info, err = os.Stat(a.o.File); err != nil {
		return errors.Join(failed, err)
	}
	a.size = info.Size()
	for _, one := range grown {
		a.last[one.Log] = one
	}
	return failed
}

func (a *Anchors) head(ctx context.Context, log Log) (authz.AuditAnchor, error) {
	last := a.last[log.Name]
	head, err := log.Head(ctx, last)
	var altered *Altered
	if errors.As(err, &altered) {
		a.o.Logger.Error("an audit log was altered: 'authz audit verify --anchors' tells where", "log", log.Name,
			"what", altered.What, "anchored", last.Time, "entries", last.Count)
		err = nil
	}
	head.Log, head.Time = log.Name, time.UnixMilli(a.o.Clock()).UTC()
	return head, err
}
