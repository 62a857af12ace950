package orgmerge

import "fmt"

// maxWarnings bounds how many warnings of one kind are told one by one.
const maxWarnings = 50

// warnings are told in the order of the merge, with the number of those left out at
// the end.
type warnings struct {
	told  []string
	kinds []string
	count map[string]int
}

// add tells of something; the kind says what is counted when there are too many.
func (w *warnings) add(kind, format string, args ...any) {
	if w.count == nil {
		w.count = map[string]int{}
	}
	if w.count[kind]++; w.count[kind] == 1 {
		w.kinds = append(w.kinds, kind)
	}
	if w.count[kind] <= maxWarnings {
		w.told = append(w.told, fmt.Sprintf(format, args...))
	}
}

func (w *warnings) all() []string {
	told := append([]string{}, w.told...)
	for _, kind := range w.kinds {
		if more := w.count[kind] - maxWarnings; more > 0 {
			told = append(told, fmt.Sprintf("and %d more: %s", more, kind))
		}
	}
	return told
}
