package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/storage"
)

// Case is one sentence of the storage contract.
type Case struct {
	ID    string // a letter and a number, and a small letter for its variants: B61, B79f
	Suite string
	Rule  string // the sentence

	// Needs are the capabilities without which the case is skipped, Without the
	// one with which it is.
	Needs   storage.Capabilities
	Without storage.Capability

	Abilities []Ability

	large bool // of thousands of rows or commits: it may take largeFactor times as long
	run   func(*world)
}

// The suites.
const (
	SuiteDriver    = "driver"    // entities, commits, sections, the event log, metrics
	SuiteIsolation = "isolation" // partitions of one backend
)

// Suites lists the suites in the order in which they run.
func Suites() []string { return []string{SuiteDriver, SuiteIsolation} }

// Cases lists every case in the order in which they run.
func Cases() []Case {
	var all []Case
	for _, table := range [][]Case{
		grantCases, directoryCases, documentCases, accessCases, auditCases, commitCases, crashCases, sectionCases, frozenCases,
		lifeCases, eventCases, metricCases, ruleCases, absenceCases,
	} {
		for _, c := range table {
			c.Suite = SuiteDriver
			all = append(all, c)
		}
	}
	for _, c := range append(slices.Clone(isolationCases), crashIsolation) {
		c.Suite = SuiteIsolation
		all = append(all, c)
	}
	rank := map[byte]int{'B': 0, 'E': 1, 'M': 2, 'I': 3, 'S': 4}
	slices.SortStableFunc(all, func(a, b Case) int {
		if a.Suite != b.Suite {
			return slices.Index(Suites(), a.Suite) - slices.Index(Suites(), b.Suite)
		}
		if a.ID[0] != b.ID[0] {
			return rank[a.ID[0]] - rank[b.ID[0]]
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}

// Selection says which cases run, and how many at once.
type Selection struct {
	Suites []string // nil: all
	IDs    []string // nil: all; B79 also selects its variants, such as B79f
	Skip   []string // ids that are left out, their variants too

	// Parallel is how many cases run at once. Zero is one.
	Parallel int
}

// Cases lists the cases selected. An unknown suite or id is an error.
func (s Selection) Cases() ([]Case, error) {
	for _, suite := range s.Suites {
		if !slices.Contains(Suites(), suite) {
			return nil, fmt.Errorf("there is no suite %q: the suites are %s", suite, strings.Join(Suites(), ", "))
		}
	}
	all := Cases()
	for _, id := range slices.Concat(s.IDs, s.Skip) {
		if !slices.ContainsFunc(all, func(c Case) bool { return c.matches(id) }) {
			return nil, fmt.Errorf("there is no case %q", id)
		}
	}
	return slices.DeleteFunc(all, func(c Case) bool {
		return len(s.Suites) > 0 && !slices.Contains(s.Suites, c.Suite) ||
			len(s.IDs) > 0 && !slices.ContainsFunc(s.IDs, c.matches) || slices.ContainsFunc(s.Skip, c.matches)
	}), nil
}

func (c Case) matches(id string) bool {
	return strings.EqualFold(c.ID, id) || strings.EqualFold(strings.TrimRight(c.ID, "abcdefghijklmnopqrstuvwxyz"), id)
}
