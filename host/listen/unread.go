package listen

import (
	"io"
	"net/http"
	"time"
)

// unreadLimit is what is read of a body that its handler left unread, over HTTP/2.
const unreadLimit = 32 << 20

// readToEnd reads what a handler left of a request's body before the answer goes
// out. Over HTTP/2 net/http resets a stream whose body is unread right behind the
// answer, and some clients then lose the answer. Beyond the bounds the reset stands.
// Over HTTP/1.1 net/http has bounds of its own, and closes the connection.
func readToEnd(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &ending{ReadCloser: r.Body}
		r.Body = body
		next.ServeHTTP(w, r)
		if body.err != nil {
			return
		}
		// A writer without deadlines has no connection that could be held.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
		_, _ = io.CopyN(io.Discard, body, unreadLimit) // the answer is the same however this ends
	})
}

// ending remembers how its reading ended.
type ending struct {
	io.ReadCloser
	err error
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.err = err
	}
	return n, err
}
