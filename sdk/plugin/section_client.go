package plugin

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

type sectionStream = grpc.BidiStreamingClient[pluginv1.SectionRequest, pluginv1.SectionReply]

// sectionClient is a held section. Its stream is the hold; one goroutine reads
// the stream until it ends, which Release, Close of the store and the death of
// the plugin all bring about.
type sectionClient struct {
	fence storage.Fence
	lease time.Duration

	stream sectionStream
	end    context.CancelFunc
	alive  context.Context

	sending  sync.Mutex             // a stream has one sender at a time
	renewing sync.Mutex             // one beat is under way at a time
	beat     int64                  // of the last beat sent
	renewed  chan *pluginv1.Renewed // answers to beats
	ended    chan struct{}          // closed after err is set
	err      error
	release  sync.Once
}

func (s *storeClient) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if s.alive.Err() != nil {
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the store is closed")
	}
	// The hold outlives the wait: only while waiting does ctx end the stream.
	held, end := context.WithCancel(s.alive)
	stopWaiting := context.AfterFunc(ctx, end)
	section, err := s.acquire(held, key, waitingBeat)
	if !stopWaiting() && err == nil {
		err = ctx.Err() // the wait was over as the answer came; the stream's end gives it back
	}
	if err != nil {
		end()
		return nil, fromWire(ctx, err, authz.OutcomeNotApplied)
	}
	section.end = end
	go section.read()
	return section, nil
}

// waitingBeat is how often a waiter tells that it still waits.
const waitingBeat = time.Second

func (s *storeClient) acquire(ctx context.Context, key string, beat time.Duration) (*sectionClient, error) {
	ask := &pluginv1.SectionAcquire{Store: s.handle, Key: key, WaitingBeatMs: beat.Milliseconds()}
	if _, err := marshal(ask, frameBytes); err != nil {
		return nil, err
	}
	st, err := s.rpc.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	// On a failed Send the status comes with Recv.
	if err := st.Send(&pluginv1.SectionRequest{Of: &pluginv1.SectionRequest_Acquire{Acquire: ask}}); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	stop := beatWhileWaiting(st, beat)
	r, err := st.Recv()
	stop()
	if err != nil {
		return nil, err
	}
	granted := r.GetGranted()
	if granted == nil {
		return nil, errors.New("the plugin did not grant the section")
	}
	lease := time.Duration(granted.GetLeaseMs()) * time.Millisecond
	if lease <= 0 {
		// No holder could renew it in time. The end of the stream gives it back.
		return nil, storage.Unavailable(authz.OutcomeNotApplied, nil, "the plugin grants sections for less than a millisecond")
	}
	return &sectionClient{
		fence: decodeFence(granted.GetFence()), lease: lease,
		stream: st, alive: s.alive, renewed: make(chan *pluginv1.Renewed), ended: make(chan struct{}),
	}, nil
}

// beatWhileWaiting ends when stop returns: a stream has one sender at a time.
func beatWhileWaiting(st sectionStream, every time.Duration) (stop func()) {
	if every <= 0 {
		return func() {}
	}
	waited, beats := make(chan struct{}), sync.WaitGroup{}
	beats.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if st.Send(&pluginv1.SectionRequest{Of: &pluginv1.SectionRequest_Beat{}}) != nil {
					return // Recv tells why
				}
			case <-waited:
				return
			}
		}
	})
	return func() {
		close(waited)
		beats.Wait()
	}
}

func (c *sectionClient) read() {
	defer close(c.ended)
	for {
		r, err := c.stream.Recv()
		if err != nil {
			c.err = err
			return
		}
		select {
		case c.renewed <- r.GetRenewed():
		case <-c.stream.Context().Done():
		}
	}
}

func (c *sectionClient) Fence() storage.Fence { return c.fence }

func (c *sectionClient) Lease() time.Duration { return c.lease }

func (c *sectionClient) Renew(ctx context.Context) error {
	c.renewing.Lock()
	defer c.renewing.Unlock()
	c.beat++
	if err := c.sendBeat(); err != nil {
		return c.lost(ctx)
	}
	for {
		select {
		case r := <-c.renewed:
			if r.GetBeat() != c.beat {
				continue // the answer to a beat whose sender stopped waiting
			}
			if e := r.GetError(); e != nil {
				return decodeError(e)
			}
			return nil
		case <-c.ended:
			return c.lost(ctx)
		case <-ctx.Done():
			return storage.Unavailable(authz.OutcomeNotApplied, ctx.Err(), "the caller stopped waiting")
		}
	}
}

func (c *sectionClient) sendBeat() error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.stream.Send(&pluginv1.SectionRequest{Of: &pluginv1.SectionRequest_Beat{Beat: c.beat}})
}

func (c *sectionClient) closeSend() error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.stream.CloseSend()
}

// lost says why the stream is over. A section without its stream is not yet
// somebody else's: fences decide that.
func (c *sectionClient) lost(ctx context.Context) error {
	select {
	case <-c.ended:
	case <-ctx.Done():
		return storage.Unavailable(authz.OutcomeNotApplied, ctx.Err(), "the caller stopped waiting")
	}
	if errors.Is(c.err, io.EOF) || c.alive.Err() != nil {
		return storage.Unavailable(authz.OutcomeNotApplied, nil, "the section was released")
	}
	return fromWire(ctx, c.err, authz.OutcomeNotApplied)
}

// Release ends the stream and waits until the plugin has let go.
func (c *sectionClient) Release(ctx context.Context) (err error) {
	c.release.Do(func() {
		defer c.end()
		if err = c.closeSend(); err != nil {
			err = fromWire(ctx, err, authz.OutcomeNotApplied)
			return
		}
		for {
			select {
			case <-c.renewed: // nobody waits for it any more
			case <-c.ended:
				if !errors.Is(c.err, io.EOF) {
					err = fromWire(ctx, c.err, authz.OutcomeNotApplied)
				}
				return
			case <-ctx.Done():
				err = storage.Unavailable(authz.OutcomeNotApplied, ctx.Err(), "the caller stopped waiting")
				return
			}
		}
	})
	return err
}
