package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// Suggest is the declared name that an issue's misspelt one was probably meant to be, ""
// where there is none. The messages of issues are the same everywhere (spec: catalog §4),
// so a suggestion stands beside them.
func (in *Input) Suggest(issue authz.Issue) string {
	var candidates []string
	switch issue.Code {
	case CodeUnknownParent, CodeUnknownScopeType, CodeImportScope:
		for _, t := range in.ScopeTypes {
			candidates = append(candidates, t.Type)
		}
	case CodeUndeclaredNS, CodeScopeTypeNamespace:
		candidates = in.Namespaces
	case CodeSoDUnmatched, "": // of lint, whose issues have no codes
		candidates = in.patterns()
	case CodeBadRequestable:
		candidates = []string{authz.StageAuto, authz.StageNamedApprovers, authz.StageManagement, PromptText, PromptSelect,
			authz.PredicateInGroup, authz.PredicateInOrg, authz.PredicateMemberOf, authz.PredicateHoldsPattern}
	case CodeBadLeaf:
		candidates = []string{string(KindRead), string(KindAction)}
	}
	for _, name := range quoted(issue.Message) {
		if slices.Contains(candidates, name) {
			continue
		}
		if near := spell.Nearest(name, candidates); near != "" {
			return near
		}
	}
	return ""
}

// patterns are the keys that are declared, and the wildcards above them.
func (in *Input) patterns() (all []string) {
	for _, set := range in.Permissions {
		for _, p := range set.Leaves {
			all = append(all, p.Key)
			for at := strings.LastIndexByte(p.Key, '.'); at > 0; at = strings.LastIndexByte(p.Key[:at], '.') {
				all = append(all, authz.SubtreePattern(p.Key[:at]))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// quoted are the texts in quotation marks of a message.
func quoted(message string) (texts []string) {
	for {
		at := strings.IndexByte(message, '"')
		if at < 0 {
			return texts
		}
		literal, err := strconv.QuotedPrefix(message[at:])
		if err != nil {
			return texts
		}
		if name, err := strconv.Unquote(literal); err == nil {
			texts = append(texts, name)
		}
		message = message[at+len(literal):]
	}
}
