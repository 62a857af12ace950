package mesh

import (
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Plan says in lines what a put changes of a registry: + for what comes, - for what goes.
func Plan(before *authz.Mesh, put Put) []string {
	after := &authz.Mesh{Members: put.Members, Edges: put.Edges}
	var lines []string
	add := func(noun string, before, after map[string]bool) {
		added, removed := compared(before, after)
		for _, text := range removed {
			lines = append(lines, "- "+noun+" "+text)
		}
		for _, text := range added {
			lines = append(lines, "+ "+noun+" "+text)
		}
	}
	add("member", described(before), described(after))
	add("edge", edgeTexts(before), edgeTexts(after))
	if put.Org != nil && (before.Org == nil || before.Org.Partition != *put.Org) {
		lines = append(lines, "+ the organization's data in "+*put.Org+", which every other member then reads there")
	}
	if org := designated(before, put); org != "" {
		joins, _ := compared(memberTexts(before), memberTexts(after))
		if before.Org == nil {
			joins = slices.Sorted(maps.Keys(memberTexts(after)))
		}
		for _, partition := range joins {
			if partition != org {
				lines = append(lines, "! grants at instances of "+partition+" name groups and roles of "+org+" from then on, whatever bore these ids before")
			}
		}
	}
	return lines
}

// designated is the org partition after a put, "" for none.
func designated(before *authz.Mesh, put Put) string {
	switch {
	case before.Org != nil:
		return before.Org.Partition
	case put.Org != nil:
		return *put.Org
	}
	return ""
}

func described(m *authz.Mesh) map[string]bool {
	texts := map[string]bool{}
	for _, member := range m.Members {
		text := member.Partition
		for i, ns := range sorted(member.Namespaces) {
			if i == 0 {
				text += " with " + ns
				continue
			}
			text += ", " + ns
		}
		texts[text] = true
	}
	return texts
}
