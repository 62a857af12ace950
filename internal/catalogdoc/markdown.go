package catalogdoc

import (
	"fmt"
	"io"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/catalog"
)

// Markdown writes the reference. What the catalog says is text in it, whatever marks it
// holds.
func (r Reference) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Permissions of %s\n", codes(r.Namespaces))
	if len(r.ScopeTypes) > 0 {
		b.WriteString("\n## Scope types\n\nAccess is granted at an instance of a type, `TYPE:ID`, and counts for what lies below it; or at `*`, everywhere.\n")
		rows := [][]string{{"Type", "Lies in", "What it is", "Permissions"}}
		for _, t := range r.ScopeTypes {
			parent := code(t.Parent)
			if t.Parent == "" {
				parent = "nothing"
			}
			if t.MultiParent {
				parent += ", any number of them"
			}
			what := text(t.Description)
			if t.Requestable {
				what = join(what, "Access can be requested.")
			}
			rows = append(rows, []string{code(t.Type), parent, what, fmt.Sprint(len(t.Keys))})
		}
		table(&b, rows)
	}
	b.WriteString("\n## Permissions\n")
	for _, g := range r.Groups {
		title := code(g.Path)
		if g.Label != "" {
			title += " " + text(g.Label)
		}
		fmt.Fprintf(&b, "\n### %s\n", title)
		if g.Description != "" {
			fmt.Fprintf(&b, "\n%s.\n", strings.TrimSuffix(text(g.Description), "."))
		}
		rows := [][]string{{"Key", "What it allows", "Kind", "Granted at"}}
		for _, leaf := range g.Keys {
			rows = append(rows, []string{code(leaf.Key), what(leaf), string(leaf.Kind), places(leaf.Scopes)})
		}
		table(&b, rows)
	}
	if len(r.Regions) > 0 {
		b.WriteString("\n## Open imports\n\nOther applications own what these patterns match; it is not listed here.\n")
		rows := [][]string{{"Pattern", "From", "What it is", "Granted at"}}
		for _, region := range r.Regions {
			rows = append(rows, []string{code(region.Pattern), text(region.From), join(text(region.Label), text(region.Description)), places(region.Scopes)})
		}
		table(&b, rows)
	}
	if len(r.SoD) > 0 {
		b.WriteString("\n## Separation of duties\n\nNobody should hold permissions of two sets of a constraint.\n")
		rows := [][]string{{"Constraint", "Why", "Sets"}}
		for _, constraint := range r.SoD {
			sets := make([]string, len(constraint.Sets))
			for i, set := range constraint.Sets {
				sets[i] = codes(set)
			}
			rows = append(rows, []string{code(constraint.ID), text(constraint.Description), strings.Join(sets, " and ")})
		}
		table(&b, rows)
	}
	if len(r.Roles) > 0 {
		b.WriteString("\n## Roles\n")
		for _, role := range r.Roles {
			fmt.Fprintf(&b, "\n### %s %s\n\n", code(role.ID), text(role.Name))
			if role.Description != "" {
				fmt.Fprintf(&b, "%s.\n\n", strings.TrimSuffix(text(role.Description), "."))
			}
			if len(role.Patterns) > 0 {
				fmt.Fprintf(&b, "Patterns: %s\n\n", codes(role.Patterns))
			}
			if len(role.Unknown) > 0 {
				fmt.Fprintf(&b, "**Not in the catalog: %s.**\n\n", codes(role.Unknown))
			}
			for _, key := range role.Keys {
				fmt.Fprintf(&b, "- %s\n", code(key))
			}
			if len(role.Keys) == 0 {
				b.WriteString("It holds no permission.\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func what(leaf catalog.Leaf) string {
	told := text(leaf.Description)
	if told == "" {
		told = text(leaf.Label)
	}
	if leaf.Destructive {
		told = join(told, "Destructive.")
	}
	if leaf.ImpliedOnAncestors {
		told = join(told, "Implied on what lies above.")
	}
	if leaf.RequiresCondition {
		told = join(told, "The application's own condition comes on top.")
	}
	if leaf.ImportedFrom != "" {
		told = join(told, "Imported from "+text(leaf.ImportedFrom)+".")
	}
	return told
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return strings.TrimSuffix(a, ".") + ". " + b
}

func places(scopes []string) string {
	if len(scopes) == 0 {
		return "`*` alone"
	}
	return codes(scopes) + ", `*`"
}

func codes(list []string) string {
	told := make([]string, len(list))
	for i, s := range list {
		told[i] = code(s)
	}
	return strings.Join(told, ", ")
}

// code is a name as code. Names of a built catalog have no marks; those of roles may.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "|", `\|`).Replace(spell.Echo(s))
	return "`" + s + "`"
}

// text is prose on one line, whose marks are text.
func text(s string) string {
	marks := strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "#", `\#`)
	return marks.Replace(strings.Join(strings.Fields(s), " "))
}

func table(b *strings.Builder, rows [][]string) {
	b.WriteString("\n")
	for i, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
}
