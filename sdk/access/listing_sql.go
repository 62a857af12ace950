// The scopes of a listing as SQL, for two ways to store ancestry.

package access

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
)

// SQL is a boolean expression for a WHERE clause and its parameters in order. No
// scope id is ever part of the text.
type SQL struct {
	Text   string `json:"sql"`
	Params []any  `json:"params"` // strings
}

// Placeholder is how a database writes a parameter.
type Placeholder string

// The placeholders. "" means PlaceholderQuestion.
const (
	PlaceholderQuestion Placeholder = "?"
	PlaceholderNumbered Placeholder = "$n" // $1, $2, …
)

// PathOptions describe a column that holds, for each row, the tokens of its
// scopes from the root down to the row itself, wrapped in separators:
// /docs.folder:2/docs.folder:9/docs.doc:1/. It suits scope types with a single
// parent only. The application keeps to PathFilter's rules for tokens when it
// writes the column.
//
// Scope ids are case-sensitive, and so must LIKE be on that column: in SQLite set
// PRAGMA case_sensitive_like, elsewhere choose a binary collation. A database that
// takes a backslash in a literal for an escape (MySQL, unless
// NO_BACKSLASH_ESCAPES is set) cannot read the text; use ClosureFilter there.
type PathOptions struct {
	PathColumn   string                    // column or expression, inserted as given; required
	Separator    string                    // "" means "/"
	ScopeToToken func(scope string) string // nil means the whole scope id; instance ids alone collide across types
	Placeholder  Placeholder               // "" means "?"
	StartParam   int                       // number of the first $n; 0 means 1; not used by "?"
}

// ClosureOptions describe a table of every row's ancestors, itself included. It
// suits every scope type, those with several parents too. Identifiers and
// expressions are inserted as given.
type ClosureOptions struct {
	ClosureTable     string                    // required
	AncestorColumn   string                    // required
	DescendantColumn string                    // required
	RowIDExpr        string                    // the listed row's token; required
	ScopeToToken     func(scope string) string // nil means the whole scope id
	Placeholder      Placeholder               // "" means "?"
	StartParam       int                       // number of the first $n; 0 means 1; not used by "?"
}

// ListingOptionError is a programming error: options from which no correct SQL
// can be built.
type ListingOptionError struct {
	Option string // the field
	Reason string
}

func (e *ListingOptionError) Error() string { return "listing: " + e.Option + " " + e.Reason }

// ScopeTokenError refuses a scope whose token could match the rows of another
// scope, or none where it must. There is no SQL then: leaving the scope out could
// show rows that a revoke hides.
type ScopeTokenError struct {
	Scope  string
	Token  string
	Reason string // follows the quoted token in the message
}

func (e *ScopeTokenError) Error() string {
	return "scope token " + spell.Quote(e.Token) + " " + e.Reason
}

// PathFilter matches the rows at or below one of the scopes, by a materialized
// path. No scopes match no row: FALSE, so that NOT excludes nothing. A token must
// be non-empty UTF-8 without NUL and must neither contain the separator nor make
// one together with the separators around it; the error is a *ScopeTokenError, or
// a *ListingOptionError.
func PathFilter(scopes []string, o PathOptions) (SQL, error) {
	params, err := newParams(o.Placeholder, o.StartParam, len(scopes))
	if err != nil {
		return SQL{}, err
	}
	if o.PathColumn == "" {
		return SQL{}, required("PathColumn")
	}
	separator := o.Separator
	if separator == "" {
		separator = "/"
	}
	if !plainText(separator) {
		return SQL{}, &ListingOptionError{Option: "Separator", Reason: "must be UTF-8 without NUL"}
	}
	if len(scopes) == 0 {
		return params.none(), nil
	}
	terms := make([]string, len(scopes))
	for i, scope := range scopes {
		token, err := tokenOf(scope, o.ScopeToToken)
		if err != nil {
			return SQL{}, err
		}
		if reason := pathFault(token, separator); reason != "" {
			return SQL{}, &ScopeTokenError{Scope: scope, Token: token, Reason: reason}
		}
		terms[i] = o.PathColumn + " LIKE " + params.add("%"+likeEscaper.Replace(separator+token+separator)+"%") + ` ESCAPE '\'`
	}
	return params.sql("(" + strings.Join(terms, " OR ") + ")"), nil
}

// ClosureFilter matches the rows at or below one of the scopes, by a closure
// table. No scopes match no row: FALSE. The error is a *ListingOptionError, or a
// *ScopeTokenError for an empty token.
func ClosureFilter(scopes []string, o ClosureOptions) (SQL, error) {
	params, err := newParams(o.Placeholder, o.StartParam, len(scopes))
	if err != nil {
		return SQL{}, err
	}
	for _, option := range []struct{ name, value string }{
		{"ClosureTable", o.ClosureTable}, {"AncestorColumn", o.AncestorColumn},
		{"DescendantColumn", o.DescendantColumn}, {"RowIDExpr", o.RowIDExpr},
	} {
		if option.value == "" {
			return SQL{}, required(option.name)
		}
	}
	if len(scopes) == 0 {
		return params.none(), nil
	}
	placeholders := make([]string, len(scopes))
	for i, scope := range scopes {
		token, err := tokenOf(scope, o.ScopeToToken)
		if err != nil {
			return SQL{}, err
		}
		placeholders[i] = params.add(token)
	}
	return params.sql(fmt.Sprintf("EXISTS (SELECT 1 FROM %[1]s WHERE %[1]s.%[2]s = %[3]s AND %[1]s.%[4]s IN (%[5]s))",
		o.ClosureTable, o.DescendantColumn, o.RowIDExpr, o.AncestorColumn, strings.Join(placeholders, ", "))), nil
}

func required(option string) error {
	return &ListingOptionError{Option: option, Reason: "is required"}
}

func tokenOf(scope string, scopeToToken func(string) string) (string, error) {
	token := scope
	if scopeToToken != nil {
		token = scopeToToken(scope)
	}
	if token == "" {
		return "", &ScopeTokenError{Scope: scope, Reason: "of scope " + spell.Quote(scope) + " is empty"}
	}
	return token, nil
}

// likeEscaper makes data of what LIKE reads as syntax. The separator goes through
// it too: it may be a metacharacter.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// pathFault says why a token could match another scope's rows, or "". Databases
// end a text at NUL, and take one malformed byte for another.
func pathFault(token, separator string) string {
	if !plainText(token) {
		return "must be UTF-8 without NUL"
	}
	if strings.Contains(token, separator) {
		return "contains the path separator " + spell.Quote(separator) + " — it would forge path boundaries"
	}
	// A separator of several characters can also arise across its own border:
	// "a/" between "//".
	wrapped := separator + token + separator
	if strings.Index(wrapped[1:], separator)+1 != len(separator)+len(token) {
		return "next to the path separator " + spell.Quote(separator) + " would forge path boundaries"
	}
	return ""
}

func plainText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// params collects the parameters of one expression.
type params struct {
	numbered bool
	next     int
	values   []any
}

func newParams(p Placeholder, start, size int) (*params, error) {
	switch {
	case p != "" && p != PlaceholderQuestion && p != PlaceholderNumbered:
		return nil, &ListingOptionError{Option: "Placeholder", Reason: `must be "?" or "$n": ` + spell.Quote(string(p))}
	case start < 0:
		return nil, &ListingOptionError{Option: "StartParam", Reason: fmt.Sprintf("must not be negative: %d", start)}
	case start == 0:
		start = 1
	}
	return &params{numbered: p == PlaceholderNumbered, next: start, values: make([]any, 0, size)}, nil
}

// add takes a value and returns its placeholder.
func (p *params) add(value string) string {
	p.values = append(p.values, value)
	if !p.numbered {
		return "?"
	}
	n := p.next
	p.next++
	return "$" + strconv.Itoa(n)
}

func (p *params) sql(text string) SQL { return SQL{Text: text, Params: p.values} }

func (p *params) none() SQL { return p.sql("FALSE") }
