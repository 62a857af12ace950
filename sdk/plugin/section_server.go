package plugin

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

type hostStream = grpc.BidiStreamingServer[pluginv1.SectionRequest, pluginv1.SectionReply]

// Acquire holds a section while the stream lives. It renews on a beat and never by
// itself, and it takes no section for a host that fell silent while it waited: a
// stopped host must not hold through a healthy plugin.
func (s *storageServer) Acquire(st hostStream) error {
	first, err := st.Recv()
	if err != nil {
		return err
	}
	ask := first.GetAcquire()
	store, err := s.store(ask.GetStore())
	if err != nil {
		return toStatus(err, false, s.log)
	}
	host := hear(st)
	section, err := host.acquire(st.Context(), store, ask)
	if err != nil {
		return toStatus(err, false, s.log)
	}
	err = s.hold(st, host, section)
	if released := release(st.Context(), section); err == nil {
		err = released
	}
	return toStatus(err, false, s.log)
}

// release gives a section back although the host may be gone.
func release(ctx context.Context, section storage.Section) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), max(section.Lease(), time.Second))
	defer done()
	return section.Release(ctx)
}

// hearing is what arrives from a host that waits for a section or holds it.
type hearing struct {
	began time.Time
	last  atomic.Int64  // when the host was heard last, since began
	beats chan int64    // those that are to be answered
	ended chan struct{} // closed after err is set
	err   error
}

// hear reads until the stream ends.
func hear(st hostStream) *hearing {
	h := &hearing{began: time.Now(), beats: make(chan int64), ended: make(chan struct{})}
	go func() {
		defer close(h.ended)
		for {
			r, err := st.Recv()
			if err != nil {
				h.err = err
				return
			}
			h.last.Store(int64(time.Since(h.began)))
			if beat := r.GetBeat(); beat != 0 {
				select {
				case h.beats <- beat:
				case <-st.Context().Done():
				}
			}
		}
	}()
	return h
}

func (h *hearing) silence() time.Duration { return time.Since(h.began) - time.Duration(h.last.Load()) }

var errSilent = errors.New("the host fell silent while it waited for a section")

// missedBeats is after how many beats a host counts as silent. To one that missed a
// single one no section is given either.
const missedBeats = 3

// acquire waits for a section as long as the host does.
func (h *hearing) acquire(ctx context.Context, store storage.Store, ask *pluginv1.SectionAcquire) (storage.Section, error) {
	every := time.Duration(ask.GetWaitingBeatMs()) * time.Millisecond
	if every <= 0 {
		return store.Acquire(ctx, ask.GetKey())
	}
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if h.silence() > missedBeats*every {
					stop(errSilent)
				}
			case <-waiting.Done():
				return
			}
		}
	}()
	section, err := store.Acquire(waiting, ask.GetKey())
	if err == nil && h.silence() > 2*every {
		err = release(ctx, section)
		stop(errSilent)
	}
	if errors.Is(context.Cause(waiting), errSilent) {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, errors.Join(errSilent, err), "%s", errSilent)
	}
	return section, err
}

// hold returns nil when the host gave the section back, else why the stream
// broke.
func (s *storageServer) hold(st hostStream, host *hearing, section storage.Section) error {
	granted := &pluginv1.Granted{Fence: encodeFence(section.Fence()), LeaseMs: section.Lease().Milliseconds()}
	if err := st.Send(&pluginv1.SectionReply{Of: &pluginv1.SectionReply_Granted{Granted: granted}}); err != nil {
		return brokenSection(err)
	}
	for {
		select {
		case beat := <-host.beats:
			renewed := &pluginv1.Renewed{Beat: beat}
			if err := section.Renew(st.Context()); err != nil {
				renewed.Error = encodeError(storageError(err, false, s.log))
			}
			if err := st.Send(&pluginv1.SectionReply{Of: &pluginv1.SectionReply_Renewed{Renewed: renewed}}); err != nil {
				return brokenSection(err)
			}
		case <-host.ended:
			if errors.Is(host.err, io.EOF) {
				return nil
			}
			return brokenSection(host.err)
		}
	}
}

func brokenSection(cause error) error {
	return storage.Unavailable(authz.OutcomeNotApplied, cause, "the section's stream broke")
}
