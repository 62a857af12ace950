package corpus

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names are what an answer holds that is another in every run, by what it is
// called in the record.
type Names map[string]string

// random is what a host makes up: ids (UUIDs, the ids that tests count up), random
// text, digests and identities of events.
var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\braw[0-9]{6}\b|\b[A-Z2-7]{26}\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b`)

// Normal is the one place where an answer is changed before it is recorded: values
// with a name are replaced by it, everything else that is random by #1, #2, … in
// the order in which it appears, so that the same value is the same everywhere in
// one answer.
func (n Names) Normal(body string) string {
	body = n.replaced(body, func(name, value string) (from, to string) { return value, name })
	seen := map[string]string{}
	return random.ReplaceAllStringFunc(body, func(value string) string {
		if seen[value] == "" {
			seen[value] = fmt.Sprintf("#%d", len(seen)+1)
		}
		return seen[value]
	})
}

// Real is a request with the values of the names that stand in it.
func (n Names) Real(body string) string {
	return n.replaced(body, func(name, value string) (from, to string) { return name, value })
}

// replaced begins with what is longest.
func (n Names) replaced(body string, pair func(name, value string) (from, to string)) string {
	var pairs [][2]string
	for name, value := range n {
		from, to := pair(name, value)
		pairs = append(pairs, [2]string{from, to})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Or(len(b[0])-len(a[0]), strings.Compare(a[0], b[0])) })
	for _, p := range pairs {
		body = strings.ReplaceAll(body, p[0], p[1])
	}
	return body
}
