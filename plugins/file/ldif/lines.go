package ldif

import "bytes"

// scanner unfolds lines.
type scanner struct {
	rest   []byte
	number int // of the line that was taken last
}

// logical is a line and what is folded to it; its text is nil for an empty line.
type logical struct {
	text   []byte
	number int
	folds  []fold
}

// fold says that the text from at on stands in another line of the file.
type fold struct{ at, number int }

// fault is a mistake at an offset of the unfolded line.
func (l *logical) fault(at int, message string) error {
	e := &SyntaxError{Line: l.number, Column: at + 1, Message: message}
	for _, f := range l.folds {
		if at >= f.at {
			e.Line, e.Column = f.number, at-f.at+2 // behind the space
		}
	}
	return e
}

// physical takes one line of the file; ok is false at its end.
func (s *scanner) physical() (line []byte, ok bool, err error) {
	if len(s.rest) == 0 {
		return nil, false, nil
	}
	s.number++
	line, rest, ended := bytes.Cut(s.rest, []byte("\n"))
	if !ended {
		return nil, false, &SyntaxError{s.number, len(line) + 1, "the last line has no line break: is the file cut off?"}
	}
	s.rest = rest
	return bytes.TrimSuffix(line, []byte("\r")), true, nil
}

// next takes a line with its continuations, comments passed over; nil at the end.
func (s *scanner) next() (*logical, error) {
	for {
		line, ok, err := s.physical()
		switch {
		case err != nil || !ok:
			return nil, err
		case len(line) == 0:
			return &logical{number: s.number}, nil
		case line[0] == ' ':
			return nil, &SyntaxError{s.number, 1, "a line that begins with a space continues none"}
		}
		l := &logical{text: line, number: s.number}
		var unfolded []byte
		for len(s.rest) > 0 && s.rest[0] == ' ' {
			more, _, err := s.physical()
			if err != nil {
				return nil, err
			}
			if unfolded == nil {
				unfolded = bytes.Clone(line)
			}
			l.folds = append(l.folds, fold{len(unfolded), s.number})
			unfolded = append(unfolded, more[1:]...)
		}
		if unfolded != nil {
			l.text = unfolded
		}
		if line[0] != '#' {
			return l, nil
		}
	}
}
