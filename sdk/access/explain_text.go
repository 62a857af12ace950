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
		b.WriteString("  because the principal is deactivated: it has no access, whatever its rows\n")
	case len(e.MatchedRevokes) > 0:
		b.WriteString("  because a revoke on the chain wins over every grant\n")
	case e.Implied:
		b.WriteString("  because the key is granted below this scope and implied on its ancestors\n")
	case len(e.Expired) > 0:
		b.WriteString("  because what conferred the key on the chain has expired\n")
	case !e.Allowed:
		b.WriteString("  because no live grant of the principal confers the key on the chain\n")
	}
	if condition != "" {
		b.WriteString("  the catalog declares the key requiresCondition: every gate also asks the application's own condition, which is not asked here\n")
	}
	for _, r := range e.MatchedRevokes {
		fmt.Fprintf(&b, "  revoke %s  %s at %s\n", spell.Echo(r.ID), spell.Echo(r.Pattern), spell.Echo(r.Scope))
	}
	for _, g := range e.MatchedGrants {
		b.WriteString("  grant  " + grantText(g))
	}
	for _, g := range e.ImpliedBy {
		b.WriteString("  implied by grant " + grantText(g))
	}
	for _, g := range e.Expired {
		b.WriteString("  expired grant " + grantTextUntil(g, "expired"))
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
