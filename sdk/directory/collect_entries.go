package directory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
)

func (c *collecting) group(g Group) error {
	if err := c.told(CapGroups); err != nil {
		return err
	}
	id, err := c.id("group id", g.ID)
	if err != nil {
		return err
	}
	if err := c.text("name", g.Name, MaxName); err != nil {
		return err
	}
	if err := c.text("description", g.Description, MaxText); err != nil {
		return err
	}
	before := c.groups[id]
	if before == nil {
		before = &Group{ID: id}
		c.groups[id] = before
	} else {
		c.twice("the group %s was told twice: its parents are united, its first name stays", id)
	}
	before.Name = cmp.Or(before.Name, g.Name)
	before.Description = cmp.Or(before.Description, g.Description)
	return c.unite(c.parents, id, g.Parents, "parent")
}

func (c *collecting) user(u User) error {
	if err := c.told(CapUsers); err != nil {
		return err
	}
	id, err := c.id("userId", u.UserID)
	if err != nil {
		return err
	}
	before := c.users[id]
	if before == nil {
		before = &User{UserID: id}
		c.users[id] = before
	} else {
		c.twice("the user %s was told twice: active if either is", id)
	}
	if u.Active != nil && (before.Active == nil || *u.Active) {
		active := *u.Active
		before.Active = &active
	}
	return nil
}

// list keeps all groups, or all orgs, of a user.
func (c *collecting) list(dataset ImporterCapability, lists map[string]*united, userID string, ids []string, noun, what string) error {
	if err := c.told(dataset); err != nil {
		return err
	}
	user, err := c.id("userId", userID)
	if err != nil {
		return err
	}
	if lists[user] != nil {
		c.twice("the "+what+" of the user %s were told twice: they are united", user)
	}
	return c.unite(lists, user, ids, noun)
}

func (c *collecting) edge(e ReportingEdge) error {
	if err := c.told(CapReporting); err != nil {
		return err
	}
	user, err := c.id("userId", e.UserID)
	if err != nil {
		return err
	}
	manager, err := c.id("managerId", e.ManagerID)
	if err != nil {
		return err
	}
	if first, twice := c.reporting[user]; twice {
		c.twice("the manager of the user %s was told twice: %s stays", user, first)
		return nil
	}
	c.reporting[user] = manager
	return nil
}

// united is a list without repetitions. seen is nil until the list is told again.
type united struct {
	list []string
	seen map[string]bool
}

// unite adds the ids that the list of that key does not have yet.
func (c *collecting) unite(lists map[string]*united, key string, ids []string, noun string) error {
	if len(ids) > MaxList { // before any work on them
		return c.refuse("a list of more than %d ids", MaxList)
	}
	u := lists[key]
	again := u != nil
	if !again {
		u = &united{list: make([]string, 0, len(ids))}
		lists[key] = u
	}
	seen := u.seen
	if seen == nil {
		seen = make(map[string]bool, len(u.list)+len(ids))
		for _, id := range u.list {
			seen[id] = true
		}
	}
	for _, told := range ids {
		id, err := c.id(noun, told)
		if err != nil {
			return err
		}
		if !seen[id] {
			seen[id] = true
			u.list = append(u.list, id)
		}
	}
	if again {
		u.seen = seen // what is told twice may be told a million times
	}
	if len(u.list) > MaxList {
		return c.refuse("a list of more than %d ids, once what was told twice is united", MaxList)
	}
	return nil
}

func lists(from map[string]*united) map[string][]string {
	out := make(map[string][]string, len(from))
	for key, u := range from {
		out[key] = u.list
	}
	return out
}

// twice warns of ids that were told twice. One warning too many costs no more than to
// be counted: a reading may have millions.
func (c *collecting) twice(format string, ids ...string) {
	if len(c.warnings) == MaxWarnings {
		c.more++
		return
	}
	quoted := make([]any, len(ids))
	for i, id := range ids {
		quoted[i] = spell.Quote(id)
	}
	c.warn(fmt.Sprintf(format, quoted...))
}

// id judges an id and answers the copy of it that is kept.
func (c *collecting) id(field, value string) (string, error) {
	if value == "" {
		return "", c.refuse("%s must be a non-empty string", field)
	}
	if err := c.text(field, value, MaxID); err != nil {
		return "", err
	}
	kept, known := c.ids[value]
	if !known {
		kept = strings.Clone(value) // not the message that it came in
		c.ids[kept] = kept
	}
	return kept, nil
}

func (c *collecting) text(field, value string, limit int) error {
	c.size += len(value) + textOverhead
	switch {
	case len(value) > limit:
		return c.refuse("%s is longer than %d bytes", field, limit)
	case !utf8.ValidString(value):
		return c.refuse("%s must be valid UTF-8", field)
	case strings.IndexByte(value, 0) >= 0:
		return c.refuse("%s must not contain U+0000", field)
	case c.size > MaxReading:
		return c.refuse("the reading is larger than %d bytes", MaxReading)
	}
	return nil
}

func inOrder[T any](rows map[string]*T) []T {
	out := make([]T, 0, len(rows))
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[id])
	}
	return out
}
