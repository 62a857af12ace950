package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// cutter breaks a connection at the nth message that a client sends: before the
// server has it, or after, so that the answer is lost.
type cutter struct {
	left  atomic.Int64 // messages until the cut; below zero: none
	after bool
}

func (c *cutter) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c}, nil
}

type cutConn struct {
	net.Conn
	cutter *cutter
	cut    atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.cutter.left.Add(-1) != 0 {
		return c.Conn.Write(b)
	}
	if !c.cutter.after {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	c.cut.Store(true)
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.cut.Load() {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

func TestACutConnectionAnywhereIsSettledBySendingAgain(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		for _, after := range []bool{false, true} {
			for n := int64(1); n <= 24; n++ {
				fresh := freshDatabase(d.layout)
				defer fresh.Close()
				cut := &cutter{after: after}
				fresh.adjust = func(o *options.ClientOptions) { o.SetDialer(cut) }
				s := fresh.openAs(t, func(d *driver) { d.turnLease = shortTurn })
				mustCommit(t, s, base())
				cut.left.Store(n)
				ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
				first, err := s.Commit(ctx, sample("c"))
				cut.left.Store(-1)
				var failure *storage.Error
				if err != nil && (!errors.As(err, &failure) || failure.Code != storage.CodeUnavailable || failure.Outcome != authz.OutcomeNotApplied) {
					t.Fatalf("cut %d after=%v: %v: a decision that the driver can look up is no unknown", n, after, err)
				}
				if err == nil && first.Replayed {
					t.Fatalf("cut %d after=%v: the first attempt passes for a second", n, after)
				}
				again, err := s.Commit(ctx, sample("c"))
				if err != nil {
					t.Fatalf("cut %d after=%v, sent again: %v", n, after, err)
				}
				if failure == nil && !again.Replayed || failure != nil && again.Replayed || again.UpTo.Seq != 3 {
					t.Fatalf("cut %d after=%v: first %v, then %+v", n, after, failure, again)
				}
				if got := extent(t, s); got != "all" {
					t.Fatalf("cut %d after=%v: %s", n, after, got)
				}
				done()
			}
		}
	})
}

func TestARenewalWhoseAnswerIsLostIsUnknown(t *testing.T) {
	needServer(t)
	d := freshDatabase(layout.Rows)
	defer d.Close()
	cut := &cutter{after: true}
	d.adjust = func(o *options.ClientOptions) { o.SetDialer(cut).SetRetryWrites(false) }
	s := d.openAs(t, func(d *driver) {
		d.pause = func(step string) error {
			if step == "rename" {
				cut.left.Store(1)
			}
			return nil
		}
	})
	before, err := s.Info().Incarnation, error(nil)
	for err == nil { // it may be the client's monitor whose message is cut
		var renewed string
		if renewed, err = s.Renew(t.Context(), ""); err == nil {
			before = renewed
		}
	}
	var failure *storage.Error
	if !errors.As(err, &failure) || failure.Code != storage.CodeUnavailable || failure.Outcome != authz.OutcomeUnknown {
		t.Fatal(err)
	}
	d.adjust = nil
	if d.open(t).Info().Incarnation == before {
		t.Error("the server did not have it: this proves nothing")
	}
}

func TestCloseWaitsForACommitOfASupersededPartition(t *testing.T) {
	needServer(t)
	d := freshDatabase(layout.Rows)
	defer d.Close()
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := d.openAs(t, func(d *driver) {
		d.pause = func(step string) error {
			if step == "decide" {
				once.Do(func() { close(reached); <-goOn })
			}
			return nil
		}
	})
	if _, err := s.Renew(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	made := s.partition.driver
	if _, err := made.Open(t.Context(), s.partition.name); err != nil {
		t.Fatal(err)
	}
	committed, closed := make(chan error, 1), make(chan struct{})
	go func() { _, err := s.Commit(t.Context(), base()); committed <- err }()
	<-reached
	go func() { _ = made.Close(); close(closed) }()
	select {
	case <-closed:
		t.Error("Close did not wait")
	case <-time.After(200 * time.Millisecond):
	}
	close(goOn)
	if err := <-committed; err != nil {
		t.Errorf("the commit in flight: %v", err)
	}
	<-closed
}

// stall holds up whatever a client sends while it is on.
type stall struct {
	on   atomic.Bool
	goOn chan struct{}
}

func (s *stall) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &stallConn{conn, s}, err
}

type stallConn struct {
	net.Conn
	stall *stall
}

func (c *stallConn) Write(b []byte) (int, error) {
	if c.stall.on.Load() {
		select {
		case <-c.stall.goOn:
		case <-time.After(5 * time.Second): // a call that waits for this fails the test, late
		}
	}
	return c.Conn.Write(b)
}

func TestACancelledAcquisitionGivesItsLeaseBackBehindTheCaller(t *testing.T) {
	needServer(t)
	d := freshDatabase(layout.Rows)
	defer d.Close()
	d.lease = shortTurn
	robbed := d.open(t)
	if _, err := robbed.Acquire(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(shortTurn)
	ctx, leave := context.WithCancel(t.Context())
	wire := &stall{goOn: make(chan struct{})}
	d.lease, d.adjust = storage.DefaultLease, func(o *options.ClientOptions) { o.SetDialer(wire) }
	s := d.openAs(t, func(thief *driver) {
		thief.pause = func(step string) error {
			if step == "take" { // it has the section, and passes through the turn
				wire.on.Store(true)
				leave()
			}
			return nil
		}
	})
	start := time.Now()
	_, err := s.Acquire(ctx, "k")
	if waited := time.Since(start); storage.CodeOf(err) != storage.CodeUnavailable || waited > 3*time.Second {
		t.Errorf("after %v: %v", waited, err)
	}
	close(wire.goOn)
	if err := s.partition.driver.Close(); err != nil {
		t.Fatal(err)
	}
	var l lockDoc
	locks := robbed.partition.in(layout.Locks)
	if row, _, err := locks.One(t.Context(), locks.Key("k")); err != nil || row.Decode(&l) != nil || l.Holder == nil || l.ExpiresAt > time.Now().UnixMilli() {
		t.Errorf("%+v, %v: the lease was not given back", l, err)
	}
}

func TestARefusedCommitIsInFlightNoLonger(t *testing.T) {
	needServer(t)
	d := freshDatabase(layout.Rows)
	defer d.Close()
	s := d.open(t)
	c := base()
	c.ID, c.Fences = "", []storage.Fence{{Key: "k", Fence: 1}}
	if _, err := s.Commit(t.Context(), c); storage.CodeOf(err) != storage.CodeValidation {
		t.Fatal(err)
	}
	if f := &s.partition.flights; f.all != 0 || len(f.under) != 0 {
		t.Errorf("%d commits in flight, under %v", f.all, f.under)
	}
}

func TestADatabaseThatIsNotThereIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	d, err := New(Options{URI: fmt.Sprintf("mongodb://user:s3cret@%s/", address), Database: "d", Layout: layout.Rows})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, done := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer done()
	_, err = d.Open(ctx, "app")
	var failure *storage.Error
	if !errors.As(err, &failure) || failure.Code != storage.CodeUnavailable || failure.Outcome != authz.OutcomeNotApplied {
		t.Fatal(err)
	}
}
