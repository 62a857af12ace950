package verify

import (
	"regexp"
	"slices"
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"
)

// refusal is a place in a source that seems to refuse.
type refusal struct {
	at, end int
	plain   bool // by a word that means nothing else
}

// plainWords is how many of refusalWords mean nothing else.
const plainWords = 7

// refusalWords are said by what refuses, in lower case.
var refusalWords = []string{"401", "403", "unauthori", "forbidden", "notauthenticated", "unauthenticated", "not authenticated", "notauthori", "not authori",
	"accessdenied", "access denied", "permission denied", "not allowed", "notallowed", "authorizationerror", "authenticationerror", "missingpermission",
	"must be logged in", "login required", "not logged in", "not have access", "not have permission", "no permission", "insufficient perm"}

var (
	// What "invalid", "missing" and "redirect(" must be followed by to refuse.
	refusedThing = regexp.MustCompile(`(?i)^(invalid|missing).{0,30}(signature|token|api ?key|secret|credential|authorization|permission)|^redirect\(.{0,30}(login|sign-?in|auth)`)
	refuses      = regexp.MustCompile(`\b(throw|return|status|sendStatus|redirect|reject|fail|code|error|abort)\b|Response|json\(|Error\(`)
	comparison   = regexp.MustCompile(`instanceof|===|!==|\bcase\b|^\s*(//|\*)`)
)

// refusals are where a source seems to refuse: words of refusal behind what throws or
// answers, and not in a comparison or a comment.
func refusals(text string) []refusal {
	found := []refusal{}
	folded := strings.ToLower(text)
	if len(folded) != len(text) {
		folded = text
	}
	take := func(at, end int, plain bool) {
		from := max(0, at-160)
		if cut := strings.LastIndexByte(text[from:at], ';'); cut >= 0 {
			from += cut + 1
		}
		line := strings.LastIndexByte(text[:at], '\n') + 1
		said := refuses.MatchString(text[from:at]) || strings.HasPrefix(text[at:], "redirect(")
		if said && !comparison.MatchString(text[line:at]) && !strings.HasSuffix(strings.TrimRight(folded[:at], " "), "method") {
			found = append(found, refusal{at, end, plain})
		}
	}
	sought := func(word string, hit func(at int)) {
		for from := 0; ; from++ {
			n := strings.Index(folded[from:], word)
			if n < 0 {
				return
			}
			from += n
			hit(from)
		}
	}
	for i, word := range refusalWords {
		sought(word, func(at int) {
			digits := word[0] == '4'
			if digits && (at > 0 && isWordByte(text[at-1]) || at+3 < len(text) && isWordByte(text[at+3])) {
				return
			}
			take(at, at+max(len(word), wordLength(text[at:])), i < plainWords)
		})
	}
	for _, word := range []string{"invalid", "missing", "redirect("} {
		sought(word, func(at int) {
			if m := refusedThing.FindStringIndex(text[at:min(len(text), at+90)]); m != nil {
				take(at, at+m[1], false)
			}
		})
	}
	slices.SortFunc(found, func(a, b refusal) int { return a.at - b.at })
	return found
}

// refusalIn is the first refusal in a node, and whether there is one.
func (r *reader) refusalIn(n *ts.Node, plain bool) (words string, ok bool) {
	if r.refusals == nil {
		r.refusals = refusals(r.text)
	}
	i, _ := slices.BinarySearchFunc(r.refusals, n.Pos(), func(f refusal, at int) int { return f.at - at })
	for ; i < len(r.refusals) && r.refusals[i].at < n.End(); i++ {
		if f := r.refusals[i]; f.end <= n.End() && (f.plain || !plain) {
			return strings.Join(strings.Fields(r.text[f.at:min(f.end, f.at+40)]), " "), true
		}
	}
	return "", false
}
