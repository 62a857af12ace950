package totals

import (
	"bytes"
	"slices"
)

// Read answers the series of a file and how much of it is good.
func Read(content []byte) (series []Series, good int64, err error) {
	good, err = read(bytes.NewReader(content), func(r record) { series = append(series, r.Series...) })
	return series, good, err
}

// Append adds a record to a file.
func Append(content []byte, name string, total float64) ([]byte, error) {
	line, err := record{Series: []Series{{Key: Key{Instrument: Checks, Name: name}, Total: total}}}.line()
	return slices.Concat(content, line), err
}

// Stall holds the turn, as a write that does not end.
func (t *Table) Stall() (resume func()) {
	t.turn <- struct{}{}
	return t.release
}
