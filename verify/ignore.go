package verify

import (
	"strings"

	ts "github.com/microsoft/typescript-go/authzshim"
)

const (
	pragmaFile = "authz-verify-ignore-file"

	// pragmaMark is in every pragma. It begins with a byte that is rare in sources,
	// by which it is sought several times as fast as by a letter.
	pragmaMark = "-verify-ignore-"
)

// IgnorePragma is a file pragma (spec: verifier §7.1). Effective ones are in the
// header of the file and take it out.
type IgnorePragma struct {
	Reason    string
	Line      int
	Effective bool
}

// FindIgnorePragma finds the file pragma that counts: the first effective one, else
// the first that is misplaced, else nil. The source is read as TypeScript or as
// TSX, whichever fits better; one that nests too deep to be read has none.
func FindIgnorePragma(text string) *IgnorePragma {
	if !strings.Contains(text, pragmaMark) {
		return nil
	}
	text = string(clean([]byte(text)))
	best, err := parse("", text, false)
	if err != nil {
		return nil
	}
	if errors := ts.SyntaxErrors(best.tree); errors > 0 {
		if tsx, err := parse("", text, true); err == nil && ts.SyntaxErrors(tsx.tree) < errors {
			best = tsx
		}
	}
	return best.ignorePragma(best.prologueEnd(func(string) {}))
}

// ignorePragma looks for file pragmas; the header ends before the offset.
func (s *source) ignorePragma(header int) *IgnorePragma {
	if !strings.Contains(s.text, pragmaMark) {
		return nil
	}
	var misplaced *IgnorePragma
	for from := 0; ; {
		at := strings.Index(s.text[from:], pragmaFile)
		if at < 0 {
			return misplaced
		}
		at += from
		from = at + len(pragmaFile)
		effective := at < header
		if !effective && misplaced != nil {
			return misplaced
		}
		if reason, ok := s.pragmaReason(at); ok {
			line, _ := s.position(at)
			p := &IgnorePragma{Reason: reason, Line: line, Effective: effective}
			if effective {
				return p
			}
			misplaced = p
		}
	}
}

// pragmaReason reads the rest of the line of a pragma that starts the text of its
// comment on its line.
func (s *source) pragmaReason(at int) (string, bool) {
	start, end, ok := s.commentAt(at)
	if !ok {
		return "", false
	}
	block := s.text[start+1] == '*'
	lineStart := strings.LastIndexByte(s.text[:at], '\n') + 1
	before := s.text[max(lineStart, start):at]
	switch {
	case !block:
		before = before[len("//"):]
	case start >= lineStart:
		before = strings.TrimLeft(before[len("/"):], "*")
	default:
		before = strings.TrimPrefix(strings.TrimSpace(before), "*")
	}
	if strings.TrimSpace(before) != "" {
		return "", false
	}
	rest := s.text[at+len(pragmaFile) : end]
	if block {
		rest = strings.TrimSuffix(rest, "*/")
	}
	rest, _, _ = strings.Cut(rest, "\n")
	if !endsWord(rest) {
		return "", false
	}
	return strings.TrimSpace(rest), true
}
