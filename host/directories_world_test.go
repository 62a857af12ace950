package host_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// company is a directory as it really is: what an import must come to is computed
// from it, what the importer tells is it with noise.
type company struct {
	people map[string]*member
	groups map[string][]string // parents, acyclic but for rings
	texts  map[string]string   // descriptions, of groups that have one
	rings  [][]string          // groups that are each other's parents in turn
	pairs  [][2]string         // people who are each other's managers
}

type member struct {
	active  bool
	groups  map[string]bool
	manager string
}

// newCompany has rings of one to four groups, people in groups that nobody knows
// and managers who are not there.
func newCompany(r *rand.Rand, people, groups int) *company {
	c := &company{people: map[string]*member{}, groups: map[string][]string{}}
	name := func(i int) string { return fmt.Sprintf("g%04d", i) }
	inRing := map[string]bool{}
	for i := 0; i < groups; {
		size := 1
		if r.IntN(20) == 0 {
			size = 1 + r.IntN(4)
			ring := []string{}
			for k := range min(size, groups-i) {
				ring = append(ring, name(i+k))
				inRing[name(i+k)] = true
			}
			c.rings = append(c.rings, ring)
		}
		for k := range min(size, groups-i) {
			id, parents := name(i+k), map[string]bool{}
			for range r.IntN(3) { // above: ranges of groups that came before, never the ring itself
				if i > 0 {
					parents[name(r.IntN(i))] = true
				}
			}
			c.groups[id] = slices.Sorted(maps.Keys(parents))
		}
		i += size
	}
	for i := range people {
		m := &member{active: r.IntN(20) > 0, groups: map[string]bool{}}
		for range r.IntN(6) {
			m.groups[name(r.IntN(groups))] = true
		}
		if r.IntN(100) == 0 {
			m.groups["unheard-of"] = true
		}
		switch {
		case r.IntN(200) == 0:
			m.manager = "left-long-ago"
		case i > 0:
			m.manager = fmt.Sprintf("p%05d", r.IntN(i))
		}
		c.people[fmt.Sprintf("p%05d", i)] = m
	}
	for i := range people / 500 {
		a, b := fmt.Sprintf("boss%03d", 2*i), fmt.Sprintf("boss%03d", 2*i+1)
		c.people[a] = &member{active: true, groups: map[string]bool{}, manager: b}
		c.people[b] = &member{active: true, groups: map[string]bool{}, manager: a}
		c.pairs = append(c.pairs, [2]string{a, b})
	}
	return c
}

// rename gives n people other ids, and answers who is gone.
func (c *company) rename(n int) (gone []string) {
	for _, id := range slices.Sorted(maps.Keys(c.people)) {
		if len(gone) == n {
			return gone
		}
		if !strings.HasPrefix(id, "p") || !c.people[id].active || len(gone)*7 > len(c.people) {
			continue
		}
		c.people["renamed-"+id] = c.people[id]
		delete(c.people, id)
		gone = append(gone, id)
	}
	return gone
}

// write puts the reading into the file, in any order, with duplicates.
func (c *company) write(t testing.TB, r *rand.Rand, path string) {
	t.Helper()
	var lines []string
	add := func(kind string, entry any) {
		raw, err := json.Marshal(map[string]any{kind: entry})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(raw))
	}
	ring := map[string]string{} // the next in it
	for _, members := range c.rings {
		for i, id := range members {
			ring[id] = members[(i+1)%len(members)]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.groups)) {
		parents := slices.Clone(c.groups[id])
		if next := ring[id]; next != "" {
			parents = append(parents, next)
		}
		add("group", directory.Group{ID: id, Name: "Group " + id, Description: c.texts[id], Parents: parents})
		if r.IntN(50) == 0 { // again, a part of it
			add("group", directory.Group{ID: id, Name: "Group " + id, Parents: parents[:len(parents)/2]})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.people)) {
		m := c.people[id]
		add("user", directory.User{UserID: id, Active: &m.active})
		groups := slices.Sorted(maps.Keys(m.groups))
		r.Shuffle(len(groups), func(i, k int) { groups[i], groups[k] = groups[k], groups[i] })
		half := r.IntN(len(groups) + 1)
		if r.IntN(10) > 0 {
			half = 0
		}
		add("membership", directory.Membership{UserID: id, Groups: groups[half:]})
		if half > 0 {
			add("membership", directory.Membership{UserID: id, Groups: groups[:half]})
			no := false
			add("user", directory.User{UserID: id, Active: &no}) // active wins
		}
		if m.manager != "" {
			add("edge", directory.ReportingEdge{UserID: id, ManagerID: m.manager})
		}
	}
	add("membership", directory.Membership{UserID: "nobody-knows", Groups: []string{"g0000"}})
	r.Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
	writeReading(t, path, lines...)
}

// everything is the Begin of all datasets but orgs.
const everything = `{"begin":{"datasets":["users","groups","memberships","reporting"],"expected":1000}}`

// writeReading is a complete reading of the lines, moved into place whole.
func writeReading(t testing.TB, path string, lines ...string) {
	t.Helper()
	f, err := os.Create(path + ".new")
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, everything)
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
	fmt.Fprintln(w, `{"end":{"cursor":"c"}}`)
	if err := cmp.Or(w.Flush(), f.Close(), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// rows are the people and groups as they must be stored, or are.
type rows struct {
	People map[string]authz.User
	Groups map[string]authz.Group
}

// want computes the rows from the company alone; gone are people of before.
func (c *company) want(gone map[string]authz.User) rows {
	w := rows{People: map[string]authz.User{}, Groups: map[string]authz.Group{}}
	home := map[string]string{}
	for _, ring := range c.rings {
		for _, id := range ring {
			home[id] = "virtual:" + strings.Join(slices.Sorted(slices.Values(ring)), "+")
		}
	}
	above := func(parents []string) []string {
		set := map[string]bool{}
		for _, p := range parents {
			set[cmp.Or(home[p], p)] = true
		}
		return slices.Sorted(maps.Keys(set))
	}
	for id, parents := range c.groups {
		g := authz.Group{ID: id, Name: "Group " + id, Description: c.texts[id], Parents: above(parents)}
		if virtual := home[id]; virtual != "" {
			v := w.Groups[virtual]
			v = authz.Group{ID: virtual, Name: virtual, Virtual: true, Parents: above(append(slices.Clone(v.Parents), parents...))}
			w.Groups[virtual], g.Parents = v, []string{virtual}
		}
		w.Groups[id] = g
	}
	for id, m := range c.people {
		w.People[id] = authz.User{UserID: id, Active: m.active, GroupIDs: slices.Sorted(maps.Keys(m.groups)), ManagerUserID: m.manager}
	}
	for _, pair := range c.pairs { // the edge of the first stands, that of the second would close a ring
		second := w.People[max(pair[0], pair[1])]
		second.ManagerUserID = ""
		w.People[second.UserID] = second
	}
	for id, u := range gone {
		u.Active, u.ManagerUserID = false, ""
		u.GroupIDs = slices.DeleteFunc(slices.Clone(u.GroupIDs), func(g string) bool { _, ours := w.Groups[g]; return ours })
		w.People[id] = u
	}
	return w
}

// stored are the rows of the host's application, lists in ascending order.
func stored(t testing.TB, h *host.Host) rows {
	t.Helper()
	app, _ := h.Application("docs")
	r := rows{People: map[string]authz.User{}, Groups: map[string]authz.Group{}}
	for u, err := range app.Store().ListUsers(context.Background(), storage.UserFilter{}, storage.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(u.GroupIDs)
		r.People[u.UserID] = u
	}
	for g, err := range app.Store().ListGroups(context.Background(), storage.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(g.Parents)
		r.Groups[g.ID] = g
	}
	return r
}
