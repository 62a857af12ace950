package request

import (
	"bytes"
	"strconv"
)

// The UTF-16 surrogates; from lowSurrogate on they are second halves.
const (
	highSurrogate = 0xd800
	lowSurrogate  = 0xdc00
	lastSurrogate = 0xdfff
)

// LoneSurrogate reports that JSON text holds an escape \ud800 to \udfff that is no
// half of a pair. encoding/json reads it as U+FFFD, which is another string than the
// one that was sent.
func LoneSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		text = text[i:]
		switch unit := escapedUnit(text); {
		case unit < highSurrogate || unit > lastSurrogate:
			text = text[min(2, len(text)):]
		case unit >= lowSurrogate:
			return true
		default:
			if low := escapedUnit(text[6:]); low < lowSurrogate || low > lastSurrogate {
				return true
			}
			text = text[12:]
		}
	}
}

// escapedUnit reads a leading \uXXXX; -1 when text begins otherwise.
func escapedUnit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
