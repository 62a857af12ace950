package unixdir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

const (
	maxFile = 64 << 20
	maxLine = 1 << 20
)

var errCut = errors.New("the last line has no line break")

// whole is bufio.ScanLines for files whose every line has ended: one that was cut off
// would pass off a part of a list as the whole.
func whole(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if advance, token, err = bufio.ScanLines(data, atEOF); atEOF && token != nil && data[advance-1] != '\n' {
		return 0, nil, errCut
	}
	return advance, token, err
}

// lines yields the fields of every line that is neither empty nor a comment. It
// counts them from 1 and never repeats what stands in one. A file that cannot be read
// is an outage; one that can and is none is refused.
func lines(path string, fields int) iter.Seq2[int, result] {
	return func(yield func(int, result) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(0, result{err: &authz.UnavailableError{Message: path + " cannot be read", Cause: err}})
			return
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Size() > maxFile {
			yield(0, result{err: authz.Validation("%s has %d bytes, at most %d are read", path, info.Size(), maxFile)})
			return
		}
		scanner := bufio.NewScanner(io.LimitReader(f, maxFile))
		scanner.Buffer(nil, maxLine)
		scanner.Split(whole)
		n := 0
		for scanner.Scan() {
			n++
			line := strings.TrimSpace(scanner.Text())
			if line == "" || line[0] == '#' {
				continue
			}
			r := result{fields: strings.Split(line, ":")}
			switch name := r.fields[0]; {
			case len(r.fields) != fields || name == "" || len(name) > directory.MaxID:
				r.err = authz.Validation("line %d of %s has not the %d fields that it must", n, path, fields)
			case !utf8.ValidString(line):
				r.err = authz.Validation("line %d of %s is not UTF-8", n, path)
			}
			if !yield(n, r) || r.err != nil {
				return
			}
		}
		switch {
		case errors.Is(scanner.Err(), errCut):
			yield(n, result{err: authz.Validation("line %d of %s has no line break: is the file cut off?", n+1, path)})
		case scanner.Err() != nil:
			yield(n, result{err: &authz.UnavailableError{Message: fmt.Sprintf("%s cannot be read after line %d", path, n), Cause: scanner.Err()}})
		}
	}
}

type result struct {
	fields []string
	err    error
}

// noLogin are the shells of accounts that nobody signs in to.
func noLogin(shell string) bool {
	return strings.HasSuffix(shell, "/nologin") || strings.HasSuffix(shell, "/false")
}

// readPeople answers every account's name, the system's too.
func (m *machine) readPeople(o Options) (accounts map[string]bool, err error) {
	accounts = map[string]bool{}
	for n, line := range lines(o.Passwd, 7) {
		if line.err != nil {
			return nil, line.err
		}
		uid, badUID := strconv.ParseInt(line.fields[2], 10, 64)
		gid, badGID := strconv.ParseInt(line.fields[3], 10, 64)
		if badUID != nil || badGID != nil {
			return nil, authz.Validation("line %d of %s has an id that is no number", n, o.Passwd)
		}
		accounts[line.fields[0]] = true
		if uid >= o.MinUID && uid <= o.MaxUID {
			m.people = append(m.people, person{name: line.fields[0], primary: gid, active: !noLogin(line.fields[6])})
		}
	}
	return accounts, nil
}

// readGroups reads the groups, and says which members are nobody.
func (m *machine) readGroups(o Options, accounts map[string]bool) error {
	for n, line := range lines(o.Group, 4) {
		if line.err != nil {
			return line.err
		}
		id, bad := strconv.ParseInt(line.fields[2], 10, 64)
		if bad != nil {
			return authz.Validation("line %d of %s has an id that is no number", n, o.Group)
		}
		g := group{name: line.fields[0], id: id}
		for name := range strings.SplitSeq(line.fields[3], ",") {
			switch {
			case name == "":
			case accounts[name]:
				m.listed[name] = append(m.listed[name], g.name)
			default:
				m.warnings = append(m.warnings, fmt.Sprintf("group %.100q: member %.100q has no account", g.name, name))
			}
		}
		m.groups, m.byID[id] = append(m.groups, g), g.name
	}
	return nil
}
