// Package unixdir tells the people and groups of a machine, from a file as
// /etc/passwd and one as /etc/group: an importer as a vendor makes one, from the SDK
// alone.
//
// Both files are read whole before anything is told, so that what is told is of one
// moment and what is wrong shows before. The package never changes them and never
// reads passwords.
package unixdir

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// Name is the importer's.
const Name = "unix"

// Capabilities are the datasets that the importer tells.
func Capabilities() []directory.ImporterCapability {
	return []directory.ImporterCapability{directory.CapUsers, directory.CapGroups, directory.CapMemberships}
}

// Options says where the files are and which accounts are people.
type Options struct {
	Passwd, Group  string
	MinUID, MaxUID int64
}

// New makes an importer. It opens nothing.
func New(o Options) directory.Importer { return &importer{options: o} }

type importer struct {
	options Options
	closed  atomic.Bool
}

func (*importer) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: Name, Capabilities: Capabilities()}
}

// Import tells everything, whatever the cursor: the files do not say what changed.
func (i *importer) Import(ctx context.Context, _ directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		m, err := i.read(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		told := []directory.Entry{directory.Begin{Datasets: Capabilities(), Expected: len(m.groups) + 2*len(m.people)}}
		for _, text := range m.warnings {
			told = append(told, directory.Warning{Message: text})
		}
		for _, g := range m.groups {
			told = append(told, directory.Group{ID: g.name, Name: g.name})
		}
		for _, p := range m.people {
			active := p.active
			told = append(told, directory.User{UserID: p.name, Active: &active}, directory.Membership{UserID: p.name, Groups: m.groupsOf(p)})
		}
		for _, e := range append(told, directory.End{}) {
			if err := i.obstacle(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (i *importer) Close() error {
	i.closed.Store(true)
	return nil
}

// obstacle is why a reading does not go on.
func (i *importer) obstacle(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &authz.UnavailableError{Message: "the reading was given up", Cause: err}
	}
	if i.closed.Load() {
		return &authz.UnavailableError{Message: "the importer is closed"}
	}
	return nil
}

// machine is what both files say.
type machine struct {
	people   []person
	groups   []group
	byID     map[int64]string    // a group's name
	listed   map[string][]string // the groups that list an account
	warnings []string
}

type person struct {
	name    string
	primary int64 // group id
	active  bool
}

type group struct {
	name string
	id   int64
}

// groupsOf are the primary group, if there is one of that id, and those that list the
// person.
func (m *machine) groupsOf(p person) []string {
	names := slices.Clone(m.listed[p.name])
	if primary := m.byID[p.primary]; primary != "" && !slices.Contains(names, primary) {
		names = append(names, primary)
	}
	return names
}

// read is one moment of the machine. Nobody at all is no directory: the file was
// emptied, or is another one, and nobody is to be deactivated for that.
func (i *importer) read(ctx context.Context) (*machine, error) {
	if err := i.obstacle(ctx); err != nil {
		return nil, err
	}
	m := &machine{byID: map[int64]string{}, listed: map[string][]string{}}
	accounts, err := m.readPeople(i.options)
	if err != nil {
		return nil, err
	}
	if len(m.people) == 0 {
		return nil, authz.Validation("%s has nobody with a user id from %d to %d", i.options.Passwd, i.options.MinUID, i.options.MaxUID)
	}
	if err := m.readGroups(i.options, accounts); err != nil {
		return nil, err
	}
	return m, nil
}
