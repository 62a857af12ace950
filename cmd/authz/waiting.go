package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/authzhost/authz/internal/input"
)

// onTerminal reports that a terminal is at the other end. Other devices are none:
// /dev/null.
func onTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// waitPatience is how long a command may say nothing.
const waitPatience = 2 * time.Second

// waiting tells on a terminal that a command works which has said nothing yet. It ends
// with the first word of the command.
type waiting struct {
	mu    sync.Mutex
	to    io.Writer // nil: it has ended, or never began
	shown bool
	ended chan struct{}
}

// newWaiting watches a command that begins now. One that reads what somebody types waits
// for them, and not the other way round.
func newWaiting(errs io.Writer, in io.Reader, args []string) *waiting {
	w := &waiting{ended: make(chan struct{})}
	if !onTerminal(errs) || onTerminal(in) && slices.Contains(args, input.Stdin) || len(args) > 0 && args[0] == serveCommand {
		return w
	}
	w.to = errs
	go w.tell(time.Now())
	return w
}

func (w *waiting) tell(since time.Time) {
	for next := time.NewTimer(waitPatience); ; next.Reset(time.Second) {
		select {
		case <-w.ended:
			return
		case <-next.C:
		}
		w.mu.Lock()
		if w.to != nil {
			fmt.Fprintf(w.to, "\rworking, %d s\x1b[K", int(time.Since(since).Seconds()))
			w.shown = true
		}
		w.mu.Unlock()
	}
}

func (w *waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		return
	}
	if w.shown {
		fmt.Fprint(w.to, "\r\x1b[K")
	}
	w.to = nil
	close(w.ended)
}
