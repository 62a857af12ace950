package conformance

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// What runs the cases, and what becomes of them.
type (
	Case      = runner.Case
	Selection = runner.Selection
	Result    = runner.Result
	Failure   = runner.Failure
	Report    = runner.Report
	Outcome   = runner.Outcome
)

// The outcomes.
const (
	Passed  = runner.Passed
	Failed  = runner.Failed
	Skipped = runner.Skipped
)

// storageCase is a case of the storage contract.
type storageCase struct {
	ID    string
	Suite string
	Rule  string

	// Needs are the capabilities without which the case is skipped, Without the
	// one with which it is.
	Needs   storage.Capabilities
	Without storage.Capability

	Abilities []Ability

	large bool // of thousands of rows or commits
	run   func(*world)
}

// listed is the case as others see it.
func (c storageCase) listed() Case {
	needs := []string{}
	for _, capability := range c.Needs {
		needs = append(needs, string(capability))
	}
	for _, ability := range c.Abilities {
		needs = append(needs, string(ability))
	}
	if c.Without != "" {
		needs = append(needs, "no:"+string(c.Without))
	}
	return Case{Kind: plugin.KindStorage, Suite: c.Suite, ID: c.ID, Rule: c.Rule, Needs: needs, Large: c.large}
}

// The suites.
const (
	SuiteDriver    = "driver"    // entities, commits, sections, the event log, metrics
	SuiteIsolation = "isolation" // partitions of one backend
)

// Cases lists every case in the order in which they run.
func Cases() []Case { return Target{}.Plan().Cases() }

// table is every case in the order in which they run.
func table() []storageCase {
	var all []storageCase
	for _, table := range [][]storageCase{
		grantCases, listCases, directoryCases, documentCases, accessCases, auditCases, commitCases, crashCases, sectionCases, frozenCases, lookupCases,
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
	slices.SortStableFunc(all, func(a, b storageCase) int {
		if a.Suite != b.Suite {
			return strings.Compare(a.Suite, b.Suite)
		}
		if a.ID[0] != b.ID[0] {
			return rank[a.ID[0]] - rank[b.ID[0]]
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all
}
