// An explanation as text.

package access

import (
	"fmt"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Text renders the explanation of one question for a person: the answer, the
// rows that decided it, and the chain that was used.
func (e Explanation) Text(p authz.Principal, key, scope string) string {
	return Explained{Explanation: e}.Text(p, key, scope)
}

// Text is Explanation.Text with the way to each row that allows, and with what came near
// of a denial.
func (e Explained) Text(p authz.Principal, key, scope string) string {
	if scope == "" {
		scope = authz.Global
	}
	var b strings.Builder
	answer, may := "DENIED", "may not"
	if e.Allowed {
		answer, may = "ALLOWED", "may"
	}
	at := "at " + spell.Echo(scope)
	if scope == authz.Global {
		at = "everywhere"
	}
	condition := ""
	if e.Allowed && e.RequiresCondition {
		condition = ", if its condition holds"
	}
	fmt.Fprintf(&b, "%s  %s %s %s %s%s\n", answer, spell.Echo(p.Subject()), may, spell.Echo(key), at, condition)
	switch {
	case !e.Active:
		b.WriteString("  because the principal is deactivated: it has no access, whatever is granted\n")
	case len(e.MatchedRevokes) > 0:
		b.WriteString("  because a revoke on the chain wins over every grant\n")
	case e.Implied:
		b.WriteString("  because the key is granted below this scope and implied on its ancestors\n")
	case len(e.Expired) > 0:
		b.WriteString("  because what conferred the key on the chain has expired\n")
	case !e.Allowed:
		b.WriteString("  because " + e.Near.because(scope) + "\n")
	}
	if condition != "" {
		b.WriteString("  the catalog declares the key requiresCondition: every gate also asks the application's own condition, which is not asked here\n")
	}
	for _, r := range e.MatchedRevokes {
		fmt.Fprintf(&b, "  revoke %s  %s from %s at %s\n", spell.Echo(r.ID), spell.Echo(r.Pattern), spell.Echo(authz.UserPrincipal(r.UserID).Subject()), spell.Echo(r.Scope))
	}
	ways := make(map[string]string, len(e.Paths))
	for _, w := range e.Paths {
		ways[w.GrantID] = w.text(p, key)
	}
	for _, g := range e.MatchedGrants {
		b.WriteString("  grant  " + grantText(g) + ways[g.ID])
	}
	for _, g := range e.ImpliedBy {
		b.WriteString("  implied by grant " + grantText(g) + ways[g.ID])
	}
	for _, g := range e.Expired {
		b.WriteString("  expired grant " + grantTextUntil(g, "expired"))
	}
	e.Near.write(&b, key)
	for _, note := range e.Notes {
		b.WriteString("  note: " + spell.Echo(note) + "\n")
	}
	echoed := make([]string, len(e.ObjectClosure))
	for i, s := range e.ObjectClosure {
		echoed[i] = spell.Echo(s)
	}
	b.WriteString("  chain  " + strings.Join(echoed, " → ") + "\n")
	return b.String()
}

func grantText(g authz.Grant) string { return grantTextUntil(g, "until") }

func grantTextUntil(g authz.Grant, until string) string {
	what := spell.Echo(g.Pattern)
	if g.Pattern == "" {
		what = "role " + spell.Echo(g.RoleID)
	}
	text := fmt.Sprintf("%s  %s to %s at %s", spell.Echo(g.ID), what, spell.Echo(g.Subject), spell.Echo(g.Scope))
	if at, ok := g.ExpiresAt.At(); ok && at > 0 { // other than that was no date
		text += ", " + until + " " + time.UnixMilli(at).UTC().Format(time.RFC3339)
	}
	return text + "\n"
}

// text is the way from the principal to the key.
func (w Path) text(p authz.Principal, key string) string {
	steps := []string{spell.Echo(p.Subject())}
	for _, group := range w.Through {
		steps = append(steps, spell.Echo(group))
	}
	steps = append(steps, "grant "+spell.Echo(w.GrantID))
	if w.RoleName != "" {
		steps = append(steps, "role "+spell.Quote(w.RoleName))
	}
	if w.Pattern != key {
		steps = append(steps, spell.Echo(w.Pattern))
	}
	return "         " + strings.Join(append(steps, spell.Echo(key)), " → ") + "\n"
}

// because is the reason of a denial for want of a grant.
func (n *Near) because(scope string) string {
	switch {
	case n == nil:
	case len(n.NotGrantable) > 0:
		return "the key does not count where it is granted: it must be granted " + n.grantable()
	case len(n.Elsewhere) > 0:
		return "the key is granted elsewhere, and not on the chain of " + spell.Echo(scope)
	case len(n.Lacking) > 0:
		return "the grants on the chain confer other keys"
	}
	return "no live grant of the principal confers the key on the chain"
}

// grantable tells where the key can be granted.
func (n *Near) grantable() string {
	if len(n.GrantableAt) == 0 {
		return `at "*"`
	}
	return "at " + strings.Join(n.GrantableAt, ", ") + ` or at "*"`
}

func (n *Near) write(b *strings.Builder, key string) {
	if n == nil {
		return
	}
	for _, g := range n.NotGrantable {
		b.WriteString("  does not count here: grant " + grantText(g))
	}
	for _, g := range n.Elsewhere {
		b.WriteString("  elsewhere: grant " + grantText(g))
	}
	for _, l := range n.Lacking {
		echoed := make([]string, len(l.Patterns))
		for i, p := range l.Patterns {
			echoed[i] = spell.Echo(p)
		}
		of := ""
		if l.RoleName != "" {
			of = "role " + spell.Quote(l.RoleName) + " has "
		}
		fmt.Fprintf(b, "  near: grant %s         %s%s, and not %s\n", grantText(l.Grant), of, strings.Join(echoed, ", "), spell.Echo(key))
	}
	if n.LentBy != "" {
		b.WriteString("  the key is lent by " + spell.Quote(n.LentBy) + ": the roles and groups there confer it\n")
	}
	if n.Parentless {
		b.WriteString("  nothing but \"*\" is above it: perhaps its parents were never recorded\n")
	}
}
