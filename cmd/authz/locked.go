package main

import (
	"io"
	"sync"
)

// lockedWriter lets several logs write to one stream, line by line.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}
