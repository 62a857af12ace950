package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/authzhost/authz/internal/terminal"
)

// progress tells how far long work is: on a terminal in one line that changes,
// elsewhere in a line for each kind of thing that is done.
type progress struct {
	w        io.Writer
	terminal bool
	doing    string // "loading"
	did      string // "loaded"
	note     string // follows the numbers on a terminal
	mu       sync.Mutex
	open     bool // a line on the terminal has not ended
	last     string
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, doing: "loading", did: "loaded"}
	if f, ok := terminal.File(w); ok && onTerminal(f) {
		p.terminal, p.w = true, f // the line that changes moves the cursor itself
	}
	return p
}

func (p *progress) tell(done, total int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.terminal:
		if p.open && p.last != what {
			fmt.Fprintln(p.w)
		}
		fmt.Fprintf(p.w, "\r%s %s: %d of %d%s\x1b[K", p.doing, plain(what), done, total, p.note)
		p.open, p.last = true, what
	case done == total && total > 0:
		fmt.Fprintf(p.w, "%s %s: %d\n", p.did, what, total)
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}
