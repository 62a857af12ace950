package terminal

import "io"

// Style is how a text stands out on a terminal.
type Style string

// The styles, as the parameters of SGR.
const (
	Bold  Style = "1"
	Green Style = "32"
	Red   Style = "31"
)

// AllowStyles has Styled show styles from now on: what the Writer writes to is a terminal,
// and its user wants them.
func (w *Writer) AllowStyles() {
	w.mu.Lock()
	w.styles = true
	w.mu.Unlock()
}

// Before has f called before anything is written or the file of the Writer is taken.
func (w *Writer) Before(f func()) {
	w.mu.Lock()
	w.before = f
	w.mu.Unlock()
}

// Styled writes text, in a style where w is a Writer that may show it. The text itself is
// escaped like any other.
func Styled(w io.Writer, style Style, text string) (err error) {
	own, ok := w.(*Writer)
	if !ok {
		_, err = io.WriteString(w, text)
		return err
	}
	own.mu.Lock()
	styles := own.styles
	own.mu.Unlock()
	if !styles {
		_, err = own.Write([]byte(text))
		return err
	}
	shown, _ := escape([]byte(text), true)
	own.mu.Lock()
	defer own.mu.Unlock()
	own.begin()
	_, err = io.WriteString(own.to, "\x1b["+string(style)+"m"+string(shown)+"\x1b[0m")
	return err
}

// begin is called with the lock held.
func (w *Writer) begin() {
	if w.before != nil {
		w.before()
	}
}
