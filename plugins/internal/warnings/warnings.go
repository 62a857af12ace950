// Package warnings bounds what an importer says of a reading beside its entries: so many
// warnings of a kind, each of a length that the host takes, and how many more there were.
package warnings

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/authzhost/authz/sdk/directory"
)

// most bounds the warnings of one kind.
const most = 100

// Warnings are those of one reading, in the order in which they came.
type Warnings struct {
	said  []string
	count map[string]int // by kind
}

// Add says something. kind is what it is about, as the line that counts the others says it.
func (w *Warnings) Add(kind, format string, args ...any) {
	if w.count == nil {
		w.count = map[string]int{}
	}
	if w.count[kind]++; w.count[kind] <= most {
		w.said = append(w.said, short(fmt.Sprintf(format, args...)))
	}
}

// All ends with how many were left out.
func (w *Warnings) All() []string {
	all := w.said
	for _, kind := range slices.Sorted(maps.Keys(w.count)) {
		if more := w.count[kind] - most; more > 0 {
			all = append(all, fmt.Sprintf("%d more %s", more, kind))
		}
	}
	return all
}

// short cuts a warning to what directory.Warning may hold.
func short(message string) string {
	if len(message) <= directory.MaxWarning {
		return message
	}
	end := directory.MaxWarning - len("…")
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + "…"
}
