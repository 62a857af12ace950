package totals

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// The state file is lines: the checksum of a record in eight hexadecimal digits, a
// space, the record as JSON. The first says the format; the others say what origins
// and series stand at from there on. A line is synced before the next is begun, so
// that only the last can be torn.
const (
	stateFormat = 1
	maxLine     = 64 << 20
	sumLength   = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is a line. A window's has its origin and what it made grow.
type record struct {
	Format  int            `json:"format,omitempty"` // of the first line
	Origins []originRecord `json:"origins,omitempty"`
	Series  []Series       `json:"series,omitempty"`
}

type originRecord struct {
	Origin
	life
}

var errTooLong = errors.New("the record is too long")

func (r record) line() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(body) > maxLine-sumLength-2 {
		return nil, errTooLong
	}
	line := make([]byte, 0, sumLength+len(body)+2)
	line = append(line, checksum(body)...)
	line = append(line, ' ')
	return append(append(line, body...), '\n'), nil
}

func checksum(body []byte) string {
	sum := crc32.Checksum(body, castagnoli)
	return hex.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// parse reads a line, its end included. ok is false for one that was not written so.
func parse(line []byte) (r record, ok bool) {
	body, whole := bytes.CutSuffix(line, []byte{'\n'})
	if !whole || len(body) <= sumLength || body[sumLength] != ' ' || string(body[:sumLength]) != checksum(body[sumLength+1:]) {
		return record{}, false
	}
	if json.Unmarshal(body[sumLength+1:], &r) != nil {
		return record{}, false
	}
	for _, s := range r.Series {
		if !(s.Total >= 0) || math.IsInf(s.Total, 0) || s.Instrument.Help() == "" {
			return record{}, false
		}
	}
	return r, true
}

// Faults of a whole file.
var (
	errNoState = errors.New("is no state file")
	errDamaged = errors.New("is damaged before its end")
)

// read replays a file and answers how many bytes of it are good: what follows them
// is a line that was torn. A line that is bad with a good one after it was not torn
// but damaged.
func read(from io.Reader, replay func(record)) (good int64, err error) {
	lines := bufio.NewReaderSize(from, 1<<16)
	first, bad := true, false
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		ended := err != nil
		r, ok := parse(line)
		switch {
		case first && (!ok || r.Format != stateFormat):
			return 0, errNoState
		case ok && bad:
			return 0, errDamaged
		case ok:
			replay(r)
			good += int64(len(line))
		default:
			bad = true
		}
		if first = false; ended {
			return good, nil
		}
	}
}

// readLine is bounded: what is longer than any line is answered in pieces, which
// are no lines.
func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for len(line) < maxLine {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return line, nil
}
