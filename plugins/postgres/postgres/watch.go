package postgres

import (
	"context"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// A watcher looks every pollBlind, or every pollHeard while notifications
	// arrive: they may still be lost with the process that was to send them.
	pollBlind = 250 * time.Millisecond
	pollHeard = 2 * time.Second

	// notifyEvery is the least time between two notifications of one process. They
	// are sent after the commit, not inside: the server lets only one transaction
	// that notifies commit at a time, whatever its partition.
	notifyEvery = 2 * time.Millisecond
)

// Watch keeps no queue: between two yields only the newest head counts.
func (s *store) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		if err := s.able(ctx, storage.CapWatch); err != nil {
			yield(0, err)
			return
		}
		w, stop := s.driver.listener.watch(s.partition)
		defer stop()
		last, head := int64(-1), int64(0)
		for {
			if head == 0 || head < last { // unheard of, or another log's
				newest, err := s.Head(ctx)
				if err != nil && ctx.Err() == nil {
					yield(0, err)
					return
				}
				head = newest.Seq
			}
			if ctx.Err() != nil || head != last && !yield(head, nil) {
				return
			}
			last, head = head, 0
			look := time.NewTimer(s.driver.listener.poll())
			select {
			case <-w.wake:
				head = w.take()
			case <-look.C:
			case <-ctx.Done():
			case <-s.handle:
			}
			look.Stop()
			if ctx.Err() != nil {
				return
			}
			if s.handle.Closed() {
				yield(0, seam.Closed())
				return
			}
		}
	}
}

// channel is where the drivers on one schema tell each other of moved heads.
func (d *driver) channel() string {
	h := fnv.New64a()
	h.Write([]byte(d.options.Schema)) // never fails
	return "authz_" + strconv.FormatUint(h.Sum64(), 36)
}

// watcher is one stream. Between two looks it keeps the highest head that it
// heard of, 0 when only the database knows.
type watcher struct {
	wake chan struct{}
	head atomic.Int64
}

func (w *watcher) hear(head int64) {
	for {
		known := w.head.Load()
		if head <= known || w.head.CompareAndSwap(known, head) {
			break
		}
	}
	nudge(w.wake)
}

func (w *watcher) take() int64 { return w.head.Swap(0) }

// listener wakes the watchers of partitions whose head has moved. It holds a
// connection only while somebody watches.
type listener struct {
	driver *driver
	done   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	hearing  bool
	stop     context.CancelFunc // of the connection; nil without one
	watchers map[string]map[*watcher]struct{}
}

func newListener(d *driver) *listener {
	return &listener{driver: d, watchers: map[string]map[*watcher]struct{}{}}
}

func (l *listener) watch(partition string) (w *watcher, stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w = &watcher{wake: make(chan struct{}, 1)}
	if l.watchers[partition] == nil {
		l.watchers[partition] = map[*watcher]struct{}{}
	}
	l.watchers[partition][w] = struct{}{}
	if l.stop == nil && !l.closed && !l.driver.options.NoStatementCache {
		var ctx context.Context
		ctx, l.stop = context.WithCancel(l.driver.life)
		l.done.Go(func() { l.listen(ctx) })
	}
	return w, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.watchers[partition], w); len(l.watchers[partition]) == 0 {
			delete(l.watchers, partition)
		}
		if len(l.watchers) == 0 && l.stop != nil {
			l.stop()
			l.stop = nil
		}
	}
}

// listen hears notifications until its context ends, over one connection after
// another.
func (l *listener) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = l.hear(ctx) // watchers look for themselves meanwhile
		l.set(ctx, false)
		pause := time.NewTimer(pollBlind + rand.N(pollBlind))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

func (l *listener) hear(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.driver.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer l.driver.primary.forget(conn.PgConn())
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ending)
	}()
	if _, err := conn.Exec(ctx, "listen "+l.driver.channel()); err != nil {
		return err
	}
	l.set(ctx, true)
	l.wakeAll() // something may have moved before the connection listened
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		l.wake(readMoved(n.Payload))
	}
}

func (l *listener) set(ctx context.Context, hearing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hearing = hearing && ctx.Err() == nil
}

func (l *listener) poll() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hearing {
		return pollHeard
	}
	return pollBlind
}

func (l *listener) wake(partition string, head int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watchers[partition] {
		w.hear(head)
	}
}

func (l *listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, watchers := range l.watchers {
		for w := range watchers {
			w.hear(0)
		}
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.mu.Unlock()
	l.done.Wait()
}

// notifier tells other processes which partitions have moved, many at a time.
type notifier struct {
	driver *driver
	due    chan struct{}
	done   sync.WaitGroup

	mu         sync.Mutex
	partitions map[string]int64 // the highest head of each
}

func newNotifier(d *driver) *notifier {
	n := &notifier{driver: d, due: make(chan struct{}, 1), partitions: map[string]int64{}}
	if d.has(storage.CapWatch) {
		n.done.Go(n.run)
	}
	return n
}

// moved tells the watchers of this process at once, and the others soon.
func (n *notifier) moved(partition string, head int64) {
	n.driver.listener.wake(partition, head)
	n.mu.Lock()
	n.partitions[partition] = max(n.partitions[partition], head)
	n.mu.Unlock()
	nudge(n.due)
}

func (n *notifier) run() {
	for {
		select {
		case <-n.due:
		case <-n.driver.life.Done():
			return
		}
		n.send()
		pause := time.NewTimer(notifyEvery)
		select {
		case <-pause.C:
		case <-n.driver.life.Done():
			pause.Stop()
			return
		}
	}
}

// send gives up silently: others see the movement when they look.
func (n *notifier) send() {
	n.mu.Lock()
	moved := make([]string, 0, len(n.partitions))
	for partition, head := range n.partitions {
		moved = append(moved, strconv.FormatInt(head, 10)+" "+partition)
	}
	clear(n.partitions)
	n.mu.Unlock()
	if len(moved) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(n.driver.life, asideTime)
	defer cancel()
	_, _ = n.driver.pool.Exec(ctx, `select pg_notify($1, p) from unnest($2::text[]) p`, n.driver.channel(), moved)
}

// readMoved reads a notification: a head and a partition. Of one in another form
// every watcher looks for itself.
func readMoved(payload string) (partition string, head int64) {
	number, partition, _ := strings.Cut(payload, " ")
	head, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return payload, 0
	}
	return partition, head
}

func (n *notifier) close() { n.done.Wait() }
