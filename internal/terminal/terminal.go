// Package terminal keeps what commands print from commanding the terminal: text of
// rows, of files and of other hosts must not move the cursor, hide itself or turn
// the order of what stands beside it. The commands put their outputs through it.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
)

// Writer writes printable text, line ends and tabs as they are and every other
// character as \uXXXX. That is also how JSON spells it, so that a JSON document
// holds the same values afterwards. Bytes that are no UTF-8 become \xNN.
// It is safe for concurrent use.
type Writer struct {
	to io.Writer

	mu   sync.Mutex
	held []byte // the beginning of a character whose end has not come

	styles bool
	before func() // nil: nobody waits for it
}

// New returns a Writer to to. Flush must be called at the end.
func New(to io.Writer) *Writer { return &Writer{to: to} }

// Run runs a command whose outputs go through Writers, and returns its exit code: failed
// when the command did well and what it said could not be written.
func Run(out, errs io.Writer, failed int, command func(out, errs io.Writer) int) int {
	safeOut, safeErrs := New(out), New(errs)
	code := command(safeOut, safeErrs)
	if err := errors.Join(safeOut.Flush(), safeErrs.Flush()); err != nil && code == 0 {
		return failed
	}
	return code
}

// File is the file that w writes to, if it writes to one.
func File(w io.Writer) (*os.File, bool) {
	if own, ok := w.(*Writer); ok {
		own.mu.Lock()
		own.begin()
		own.mu.Unlock()
		w = own.to
	}
	f, ok := w.(*os.File)
	return f, ok
}

// Write reports all of p as written, or the failure of the destination.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.held) > 0 {
		text = append(w.held, p...)
	}
	out, rest := escape(text, false)
	w.held = append([]byte(nil), rest...)
	if len(out) == 0 {
		return len(p), nil
	}
	w.begin()
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the beginning of a character whose end never came.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, _ := escape(w.held, true)
	w.held = nil
	if len(out) == 0 {
		return nil
	}
	w.begin()
	_, err := w.to.Write(out)
	return err
}

// escape returns text as it may be shown, and what may be the beginning of a
// character unless this is the last of it. Text that needs no escaping is not copied.
func escape(text []byte, last bool) (shown, rest []byte) {
	var out []byte // nil while everything so far is shown as it is
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			if !last && !utf8.FullRune(text[i:]) {
				if out == nil {
					return text[:i], text[i:]
				}
				return out, text[i:]
			}
			r, size = utf8.DecodeRune(text[i:])
		}
		invalid := r == utf8.RuneError && size == 1
		if !invalid && (r == '\n' || r == '\t' || spell.Visible(r)) {
			if out != nil {
				out = append(out, text[i:i+size]...)
			}
			i += size
			continue
		}
		if out == nil {
			out = append(make([]byte, 0, len(text)+16), text[:i]...)
		}
		switch {
		case invalid:
			out = fmt.Appendf(out, `\x%02x`, text[i])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += size
	}
	if out == nil {
		return text, nil
	}
	return out, nil
}
