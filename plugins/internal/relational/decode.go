package relational

import (
	stdjson "encoding/json"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/authzhost/authz/sdk/authz"
)

func decode(column []byte, v any) error { return stdjson.Unmarshal(column, v) }

// DecodeStrings reads a column that holds a list of strings. What EncodeStrings
// makes of plain ones, nearly all there are, costs a fraction of what encoding/json
// takes.
func DecodeStrings(column []byte) (list []string, err error) {
	if list, ok := plainStrings(string(column)); ok {
		return list, nil
	}
	err = decode(column, &list)
	return list, err
}

// plainStrings reads a list of strings of printable ASCII without escapes, and
// without blanks between them. The strings share the text.
func plainStrings(text string) (list []string, ok bool) {
	if text == "[]" {
		return []string{}, true
	}
	if len(text) < len(`[""]`) || text[:2] != `["` || text[len(text)-2:] != `"]` {
		return nil, false
	}
	text = text[2 : len(text)-2]
	list = make([]string, 0, 1+strings.Count(text, `","`))
	from := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ' || c == '\\' || c >= 0x7f:
			return nil, false
		case c == '"':
			if !strings.HasPrefix(text[i:], `","`) {
				return nil, false
			}
			list = append(list, text[from:i])
			i += len(`","`) - 1
			from = i + 1
		}
	}
	return append(list, text[from:]), true
}

// provenances remembers provenances by their text: most rows repeat one of a few,
// and reading one anew takes longer than all else of a row.
var provenances = remembered{seed: maphash.MakeSeed()}

// remembered is bounded; of two texts that fall into one place the later stays.
type remembered struct {
	seed  maphash.Seed
	known [256]atomic.Pointer[provenanceText]
}

type provenanceText struct {
	text  string
	value authz.Provenance
}

// maxRemembered bounds a text that is kept, in bytes.
const maxRemembered = 512

func (r *remembered) decode(column []byte) (authz.Provenance, error) {
	if len(column) > maxRemembered {
		var value authz.Provenance
		return value, decode(column, &value)
	}
	place := &r.known[maphash.Bytes(r.seed, column)%uint64(len(r.known))]
	if known := place.Load(); known != nil && known.text == string(column) {
		return known.value, nil
	}
	read := &provenanceText{text: string(column)}
	if err := decode(column, &read.value); err != nil {
		return read.value, err
	}
	place.Store(read)
	return read.value, nil
}
