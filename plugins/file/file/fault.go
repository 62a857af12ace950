package file

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// document is a file that was read.
type document struct {
	name string // for people
	text []byte // UTF-8 without a mark at its beginning
}

// at refuses the document at a line and column, both from 1.
func (d *document) at(line, column int, format string, args ...any) error {
	return authz.Validation("%s:%d:%d: %s", spell.Echo(d.name), line, column, fmt.Sprintf(format, args...))
}

// offset refuses it at a byte.
func (d *document) offset(at int64, format string, args ...any) error {
	before := d.text[:min(max(at, 0), int64(len(d.text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return d.at(line, len(before)-bytes.LastIndexByte(before, '\n'), format, args...)
}

// newDocument wants UTF-8; a byte order mark is dropped.
func newDocument(name string, text []byte) (*document, error) {
	d := &document{name: name, text: text}
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, d.at(1, 1, "the file is UTF-16: write it as UTF-8")
	}
	if rest, found := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); found {
		d.text = rest
	}
	if !utf8.Valid(d.text) {
		at := 0
		for at < len(d.text) {
			r, size := utf8.DecodeRune(d.text[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return nil, d.offset(int64(at), "this is not UTF-8")
	}
	if at := bytes.IndexByte(d.text, 0); at >= 0 {
		return nil, d.offset(int64(at), "U+0000 has no place in a directory")
	}
	return d, nil
}

// badID says why a text cannot be an id, "" when it can. Space at its ends is
// nearly always a slip, and would make another person of it.
func badID(value string) string {
	switch {
	case value == "":
		return "is empty"
	case len(value) > directory.MaxID:
		return fmt.Sprintf("is longer than %d bytes", directory.MaxID)
	case strings.TrimSpace(value) != value:
		return "has space at its ends"
	case strings.IndexByte(value, 0) >= 0:
		return "holds U+0000"
	}
	return ""
}

func unavailable(err error, format string, args ...any) error {
	return &authz.UnavailableError{Message: fmt.Sprintf(format, args...), Cause: err}
}

// reason is the text of a file's error without its path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
