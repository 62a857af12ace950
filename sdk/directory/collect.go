package directory

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Limits of a reading. Lengths are in bytes of UTF-8.
const (
	MaxEntries = 2_000_000 // Begin and End included
	MaxList    = 10_000    // ids of one list, also of one that was united
	MaxID      = 1024
	MaxName    = 1024
	MaxText    = 65_536    // a description
	MaxReading = 512 << 20 // text in all, each id and each text counting 16 more

	// MaxWarning bounds a warning's characters and MaxWarnings their number;
	// those beyond are counted in a last one.
	MaxWarning  = 500
	MaxWarnings = 1000
)

// textOverhead is what a text counts in MaxReading beside its bytes: ids of one
// letter must not pass for nothing.
const textOverhead = 16

// progressEvery is how many entries pass between two calls of Collect's read.
const progressEvery = 1000

// Collected is a reading as an import takes it. Groups and Users are in ascending
// order of id, every list holds each id once.
type Collected struct {
	Snapshot Snapshot // a dataset that Begin does not list is nil, any other is not
	Begin    Begin
	End      End
	Warnings []string // of the importer, and of what was told twice
	Entries  int
}

// Collect reads a whole reading and holds it to the rules of Importer and to the
// limits of this package; read, which may be nil, is told now and then how many
// entries have come. Its refusals are *authz.WriteRejectedError; errors of the
// sequence are returned as they are.
//
// What is told twice costs a warning each: lists are united, active wins over
// inactive, and the name, the description and the manager told first stay.
func Collect(entries iter.Seq2[Entry, error], read func(entries int)) (Collected, error) {
	if read == nil {
		read = func(int) {}
	}
	c := newCollecting()
	for entry, err := range entries {
		if err != nil {
			return Collected{}, err
		}
		if c.count++; c.count > MaxEntries {
			return Collected{}, authz.Validation("the reading has more than %d entries", MaxEntries)
		}
		if err := c.take(entry); err != nil {
			return Collected{}, err
		}
		if c.count%progressEvery == 0 {
			read(c.count)
		}
	}
	switch {
	case c.begin == nil:
		return Collected{}, authz.Validation("the reading is empty: it must begin with a Begin and end with an End")
	case c.end == nil:
		return Collected{}, authz.Validation("the reading has no End after %d entries: it was not read to its end", c.count)
	}
	read(c.count)
	return c.collected(), nil
}

// collecting is a reading under way. Ids are kept once, however often they are
// told.
type collecting struct {
	begin    *Begin
	end      *End
	datasets map[ImporterCapability]bool
	ids      map[string]string

	groups      map[string]*Group
	parents     map[string]*united
	users       map[string]*User
	memberships map[string]*united
	reporting   map[string]string
	orgs        map[string]*united

	warnings []string
	more     int // warnings beyond MaxWarnings
	count    int
	size     int
}

func newCollecting() *collecting {
	return &collecting{
		datasets: map[ImporterCapability]bool{}, ids: map[string]string{},
		groups: map[string]*Group{}, parents: map[string]*united{}, users: map[string]*User{},
		memberships: map[string]*united{}, reporting: map[string]string{}, orgs: map[string]*united{},
	}
}

// take judges one entry and keeps what it tells.
func (c *collecting) take(entry Entry) error {
	begin, first := entry.(Begin)
	switch {
	case c.begin == nil && !first:
		return c.refuse("the first entry must be a Begin, not %s", kindOf(entry))
	case c.begin != nil && first:
		return c.refuse("a reading has one Begin")
	case c.end != nil:
		return c.refuse("nothing may follow the End, but %s did", kindOf(entry))
	case first:
		return c.start(begin)
	}
	switch e := entry.(type) {
	case Group:
		return c.group(e)
	case User:
		return c.user(e)
	case Membership:
		return c.list(CapMemberships, c.memberships, e.UserID, e.Groups, "group id", "memberships")
	case OrgMembership:
		return c.list(CapOrgs, c.orgs, e.UserID, e.Orgs, "org id", "orgs")
	case ReportingEdge:
		return c.edge(e)
	case Warning:
		c.warn(e.Message)
		return nil
	case End:
		c.end = &e
		return c.text("cursor", e.Cursor, MaxText)
	}
	return c.refuse("%s is no entry of a reading", kindOf(entry))
}

func (c *collecting) start(b Begin) error {
	if b.Expected < 0 {
		return c.refuse("expected must not be negative")
	}
	for _, d := range b.Datasets {
		switch {
		case !slices.Contains(Datasets(), d):
			return c.refuse("there is no dataset %s", spell.Quote(string(d)))
		case c.datasets[d]:
			return c.refuse("the dataset %s is listed twice", d)
		}
		c.datasets[d] = true
	}
	b.Datasets = slices.Clone(b.Datasets)
	c.begin = &b
	return nil
}

func (c *collecting) told(dataset ImporterCapability) error {
	if !c.datasets[dataset] {
		return c.refuse("it is of the dataset %s, which Begin does not list", dataset)
	}
	return nil
}

// warn keeps a warning, bounded and without control characters.
func (c *collecting) warn(message string) {
	if len(c.warnings) == MaxWarnings {
		c.more++
		return
	}
	c.warnings = append(c.warnings, spell.EchoN(strings.ToValidUTF8(message, "�"), MaxWarning))
}

func (c *collecting) refuse(format string, args ...any) error {
	return authz.Validation("entry %d of the reading: %s", c.count, fmt.Sprintf(format, args...))
}

func kindOf(entry Entry) string {
	if entry == nil {
		return "nothing"
	}
	return strings.TrimPrefix(fmt.Sprintf("a %T", entry), "a directory.")
}

// collected is what a complete reading comes to.
func (c *collecting) collected() Collected {
	out := Collected{Begin: *c.begin, End: *c.end, Warnings: c.warnings, Entries: c.count}
	if c.more > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("and %d more warnings", c.more))
	}
	s := &out.Snapshot
	if c.datasets[CapGroups] {
		for id, g := range c.groups {
			g.Parents = c.parents[id].list
		}
		s.Groups = inOrder(c.groups)
	}
	if c.datasets[CapUsers] {
		s.Users = inOrder(c.users)
	}
	if c.datasets[CapMemberships] {
		s.Memberships = lists(c.memberships)
	}
	if c.datasets[CapReporting] {
		s.ReportingEdges = c.reporting
	}
	if c.datasets[CapOrgs] {
		s.Orgs = lists(c.orgs)
	}
	return out
}
