// Package pattern compiles the regular expressions of a configuration.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Compile compiles an expression. Of what other engines know and RE2 does not, the
// error says which construct it is: the parser takes a lookbehind for a bad name.
func Compile(source string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(source)
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return re, err
	}
	switch at := bad.Expr; {
	case bad.Code == syntax.ErrInvalidEscape && len(at) == 2 && strings.Contains("123456789k", at[1:]):
		return nil, unsupported("backreference", at)
	case bad.Code == syntax.ErrInvalidPerlOp || bad.Code == syntax.ErrInvalidNamedCapture:
		for _, open := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
			if strings.HasPrefix(at, open) {
				return nil, unsupported("lookaround", open)
			}
		}
	}
	return nil, err
}

func unsupported(construct, at string) error {
	return fmt.Errorf("error parsing regexp: %s `%s` is not supported: the syntax is RE2", construct, at)
}
