package main

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/authzhost/authz/internal/freeport"
)

// relay stands between a plugin and its far side, and can stop passing on what they
// say (stall) or break their connections and refuse new ones (cut), at once or after
// so much was said.
type relay struct {
	near, far string // addresses
	running   sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while the line is cut
	shut     bool
	open     map[net.Conn]bool
	gate     chan struct{} // closed while what is said is passed on
	ended    chan struct{}
	answered int64 // bytes from the far side
	left     int64 // of them until the line is cut; 0 is none
}

// newRelay listens at a port that no outgoing connection takes while the line is cut.
func newRelay(far string) (*relay, error) {
	near, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", near)
	if err != nil {
		return nil, err
	}
	r := &relay{near: l.Addr().String(), far: far, listener: l, open: map[net.Conn]bool{}, gate: make(chan struct{}), ended: make(chan struct{})}
	close(r.gate)
	r.running.Go(func() { r.accept(l) })
	return r, nil
}

func (r *relay) accept(l net.Listener) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		if !r.keep(near) {
			continue
		}
		r.running.Go(func() { r.serve(near) })
	}
}

// keep notes a connection to be broken by a cut; while one lasts it breaks it.
func (r *relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == nil || r.shut {
		_ = c.Close()
		return false
	}
	r.open[c] = true
	return true
}

func (r *relay) drop(c net.Conn) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	_ = c.Close()
}

func (r *relay) serve(near net.Conn) {
	defer r.drop(near)
	far, err := net.DialTimeout("tcp", r.far, 5*time.Second)
	if err != nil || !r.keep(far) {
		return
	}
	defer r.drop(far)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			r.pass(way[0], way[1], way[0] == far)
			// One side has said all: the other may still answer.
			if half, ok := way[1].(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
		})
	}
	both.Wait()
}

func (r *relay) pass(from, to net.Conn, answers bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			gate, cut := r.passing(n, answers)
			if cut {
				return
			}
			select {
			case <-gate:
			case <-r.ended:
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				_ = to.Close()
			}
			return
		}
	}
}

// passing counts what is about to be passed on, and cuts the line where CutMidway
// wants it.
func (r *relay) passing(n int, answers bool) (gate chan struct{}, cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !answers {
		return r.gate, false
	}
	r.answered += int64(n)
	if r.left > 0 {
		if r.left -= int64(n); r.left <= 0 {
			r.left = 0
			r.cut()
			return r.gate, true
		}
	}
	return r.gate, false
}

// Stall, Cut, CutMidway and Resume are of a case's backend.
func (r *relay) Stall() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.gate:
		r.gate = make(chan struct{})
	default:
	}
	return nil
}

func (r *relay) Cut() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut()
	return nil
}

func (r *relay) cut() {
	if r.listener != nil {
		_ = r.listener.Close()
		r.listener = nil
	}
	r.breakAll()
}

func (r *relay) CutMidway(readings int) (cut func() bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = max(1, r.answered/int64(readings)/2)
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.listener == nil
	}, nil
}

func (r *relay) Resume() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = 0
	select {
	case <-r.gate:
	default:
		close(r.gate)
	}
	if r.listener != nil || r.shut {
		return nil
	}
	l, err := net.Listen("tcp", r.near)
	if err != nil {
		return err
	}
	r.listener = l
	r.running.Go(func() { r.accept(l) })
	return nil
}

func (r *relay) breakAll() {
	for c := range r.open {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // as a line breaks: nothing more arrives
		}
		_ = c.Close()
	}
}

func (r *relay) close() {
	r.mu.Lock()
	if r.listener != nil {
		_ = r.listener.Close()
	}
	if !r.shut {
		r.shut = true
		close(r.ended)
	}
	r.breakAll()
	r.mu.Unlock()
	r.running.Wait()
}
