package postgres

import (
	"strconv"
	"strings"
)

// where collects conditions and their arguments. $1 is the partition.
type where struct {
	text strings.Builder
	args []any
}

func inPartition() *where {
	w := &where{}
	w.text.WriteString(` where "app" = $1`)
	return w
}

// and adds a condition; each ? stands for the next argument.
func (w *where) and(condition string, args ...any) {
	w.text.WriteString(" and ")
	w.write(condition, args)
}

// then adds what follows the conditions.
func (w *where) then(text string, args ...any) {
	w.text.WriteString(" ")
	w.write(text, args)
}

func (w *where) write(text string, args []any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		w.text.WriteString(before + w.parameter(arg))
		text = after
	}
	w.text.WriteString(text)
}

// parameter stands for an argument that the text before the conditions names.
func (w *where) parameter(arg any) string {
	w.args = append(w.args, arg)
	return "$" + strconv.Itoa(len(w.args)+1)
}

// equals adds a condition on one column when the filter has it.
func equals[T any](w *where, column string, member *T) {
	if member != nil {
		w.and(`"`+column+`" = ?`, *member)
	}
}

func (w *where) String() string { return w.text.String() }
