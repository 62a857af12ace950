package application

import (
	"fmt"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

func checkGuard(o directory.Options) error {
	if most := o.MaxDeactivations; most != nil && !(*most >= 0 && *most <= 1) { // NaN is neither
		return authz.Validation("maxDeactivations must be a fraction from 0 to 1")
	}
	return nil
}

// guard says why the import must not go on unconfirmed, "" when it may. A directory
// in trouble tells of nobody, or of half of them, and looks like one that lost
// them.
func (im *importing) guard() string {
	most := im.options.MaxDeactivations
	if most == nil || im.options.Confirmed {
		return ""
	}
	const advice = "Nothing was changed. When the directory is right, look at the plan of a dry run and then confirm it"
	l := im.losses()
	if im.options.Authoritative && im.snapshot.Users != nil && len(im.snapshot.Users) == 0 && l.people.gone > 0 {
		return fmt.Sprintf("the directory tells of no people at all: the import would make all %d active people inactive. %s", l.people.of, advice)
	}
	if l.people.exceeds(*most) {
		return fmt.Sprintf("the import would make %s active people inactive, and at most %s is allowed. %s", l.people, percent(*most), advice)
	}
	if !im.options.Authoritative {
		return ""
	}
	const sentence = "the import would remove %s %s, and at most %s is allowed. %s"
	switch {
	case l.managed.exceeds(*most):
		return fmt.Sprintf(sentence, l.managed, "memberships in groups of the directory", percent(*most), advice)
	case l.memberships.exceeds(*most):
		return fmt.Sprintf(sentence, l.memberships, "memberships", percent(*most), advice)
	}
	return ""
}

// share is how many of them would go.
type share struct{ gone, of int }

// exceeds leaves room for a share that binary fractions cannot hold: 29 of 100 are
// not more than 0.29.
func (s share) exceeds(most float64) bool { return float64(s.gone) > most*float64(s.of)+1e-9 }

func (s share) String() string {
	return fmt.Sprintf("%d of %d (%s)", s.gone, s.of, percent(float64(s.gone)/float64(s.of)))
}

type losses struct{ people, memberships, managed share }

// losses counts the people who would go from active to inactive and the
// memberships that would go: all of them, and those in groups of the directory,
// which many local ones must not hide.
func (im *importing) losses() (l losses) {
	for id, was := range im.stored {
		if was.Active {
			l.people.of++
		}
		l.memberships.of += len(was.GroupIDs)
		l.managed.of += im.managedOf(was.GroupIDs)
		changed, ok := im.people[id]
		if !ok {
			continue
		}
		p := &changed.patch
		if was.Active && p.Active != nil && !*p.Active {
			l.people.gone++
		}
		if p.GroupIDs != nil {
			gone := lacking(was.GroupIDs, *p.GroupIDs)
			l.memberships.gone += len(gone)
			l.managed.gone += im.managedOf(gone)
		}
	}
	return l
}

func (im *importing) managedOf(groups []string) (n int) {
	for _, g := range groups {
		if im.managed[g] {
			n++
		}
	}
	return n
}

func percent(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }
