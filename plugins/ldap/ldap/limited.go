package ldap

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// maxAnswer bounds what a server may send for one request: a page of entries, or
// one entry with very many members.
const maxAnswer = 64 << 20

var errTooMuch = errors.New("the answer is larger than 64 MiB; a smaller page_size may help")

// limited is a connection that reads no more than it is allowed, and does not wait
// for ever to write.
type limited struct {
	net.Conn
	left     atomic.Int64
	patience time.Duration
	exceeded atomic.Bool
}

func (l *limited) allow(n int64) { l.left.Store(n) }

func (l *limited) Read(p []byte) (int, error) {
	if l.left.Load() <= 0 {
		l.exceeded.Store(true)
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(p)
	l.left.Add(-int64(n))
	return n, err
}

func (l *limited) Write(p []byte) (int, error) {
	if err := l.SetWriteDeadline(time.Now().Add(l.patience)); err != nil {
		return 0, err
	}
	return l.Conn.Write(p)
}
