package main

import (
	"fmt"
	"strings"
)

// flags are the flags of one form of the command: every word is a flag, or the
// value of the one before it.
type flags struct {
	text map[string]*string // take a value
	last map[string]string  // the value of a flag that is the last word; else there must be one
	on   map[string]*bool   // take none
	set  map[string]bool    // given
}

// parse sets the variables. The error says what the caller typed wrong.
func (f *flags) parse(args []string) error {
	f.set = map[string]bool{}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if !strings.HasPrefix(word, "-") || word == "-" || word == "--" {
			return fmt.Errorf("unexpected argument %q", word)
		}
		name, value, joined := strings.Cut(word, "=")
		f.set[name] = true
		if on, ok := f.on[name]; ok {
			if joined {
				return fmt.Errorf("%s takes no value", name)
			}
			*on = true
			continue
		}
		into, ok := f.text[name]
		if !ok {
			return fmt.Errorf("unknown flag %s", name)
		}
		if !joined {
			switch fallback, optional := f.last[name]; {
			case len(args) > 0:
				value, args = args[0], args[1:]
			case optional:
				value = fallback
			default:
				return fmt.Errorf("%s needs a value", name)
			}
		}
		*into = value
	}
	return nil
}
