package ldap

import (
	"fmt"
	"strings"

	"github.com/authzhost/authz/sdk/directory"
)

// maxWarnings bounds the warnings of one kind; more are counted.
const maxWarnings = 20

// kind is what a warning is about, as the line that counts the others says it.
type kind string

const (
	kindUser      kind = "people without a usable id"
	kindGroup     kind = "groups without a usable id"
	kindTwice     kind = "ids of several entries"
	kindMember    kind = "members that were not read"
	kindPrimary   kind = "primary groups that were not read"
	kindManager   kind = "managers that could not be taken over"
	kindActive    kind = "people of whom it is not known whether they are active"
	kindText      kind = "names and orgs that could not be taken over as they stand"
	kindReference kind = "parts of the directory that other servers hold"
	kindServer    kind = "servers that could not be read"
)

// warnings are those of one reading, in the order of their kinds' first.
type warnings struct {
	order []kind
	said  map[kind][]string
	count map[kind]int
}

func (w *warnings) add(k kind, format string, args ...any) {
	if w.count == nil {
		w.said, w.count = map[kind][]string{}, map[kind]int{}
	}
	if w.count[k]++; w.count[k] == 1 {
		w.order = append(w.order, k)
	}
	if w.count[k] <= maxWarnings {
		w.said[k] = append(w.said[k], cutText(strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD"), directory.MaxWarning))
	}
}

// list ends each kind with the number of those that it left out.
func (w *warnings) list() (all []string) {
	for _, k := range w.order {
		all = append(all, w.said[k]...)
		if more := w.count[k] - len(w.said[k]); more > 0 {
			all = append(all, fmt.Sprintf("and %d more %s", more, k))
		}
	}
	return all
}
