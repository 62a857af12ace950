package totals

import (
	"bytes"
	"os"
	"path/filepath"
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

// Break has everything fail that would change the open state file.
func (t *Table) Break() error {
	file, err := os.Open(filepath.Join(t.state.dir, stateFile))
	if err == nil {
		_, t.state.file = t.state.file.Close(), file
	}
	return err
}
