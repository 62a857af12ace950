package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/internal/terminal"
)

// The pace of the progress line: short runs show none.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress shows on a terminal how many files were read, in one line that is gone
// before anything else is written. Elsewhere it shows nothing.
type progress struct {
	w     io.Writer
	total int
	read  atomic.Int64
	stop  chan struct{}
	ended sync.WaitGroup
}

// startProgress begins to count; end must be called.
func startProgress(w io.Writer, total int) *progress {
	p := &progress{w: w, total: total, stop: make(chan struct{})}
	if isTerminal(w) {
		p.w, _ = terminal.File(w) // the line that changes moves the cursor itself
		p.ended.Go(p.show)
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := terminal.File(w)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) show() {
	wait := progressAfter
	for shown := false; ; shown = true {
		select {
		case <-p.stop:
			if shown {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		case <-time.After(wait):
			fmt.Fprintf(p.w, "\rauthz-verify: %d of %d files\x1b[K", p.read.Load(), p.total)
			wait = progressEvery
		}
	}
}

func (p *progress) end() {
	close(p.stop)
	p.ended.Wait()
}
