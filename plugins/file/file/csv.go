package file

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/directory"
)

// table is one CSV file of people or of groups.
type table struct {
	*document
	rows    *csv.Reader
	columns map[string]int // where each known column is
	record  []string
	lists   string // what separates members of a list
}

// csv reads files of people and files of groups; the header tells which.
func (r *reading) csv(docs []*document) error {
	headers, err := r.o.headers()
	if err != nil {
		return err
	}
	var first *table // of people
	people := 0
	for _, d := range docs {
		t, err := r.table(d, headers)
		if err != nil {
			return err
		}
		if _, ok := t.columns["id"]; ok {
			r.datasets[directory.CapGroups] = true
			err = t.each(r.groupRow)
		} else {
			if first != nil && !slices.Equal(first.present(), t.present()) {
				return d.at(1, 1, "the columns differ from those of %s, which is of people too", spell.Quote(first.name))
			}
			first = t
			r.datasets[directory.CapUsers] = true
			r.datasets[directory.CapReporting] = t.has("manager")
			r.datasets[directory.CapOrgs] = t.has("orgs")
			r.datasets[directory.CapMemberships] = t.has("groups")
			err = t.each(func(t *table) error { people++; return r.userRow(t) })
		}
		if err != nil {
			return err
		}
	}
	if first != nil && people == 0 {
		return first.at(1, 1, "there is nobody below the header")
	}
	return nil
}

// table reads the header.
func (r *reading) table(d *document, headers map[string]string) (*table, error) {
	if len(d.text) > 0 && !bytes.HasSuffix(d.text, []byte("\n")) {
		return nil, d.offset(int64(len(d.text)), "the last line has no line break: is the file cut off?")
	}
	separator, _ := utf8.DecodeRuneInString(r.o.Separator)
	t := &table{document: d, rows: csv.NewReader(bytes.NewReader(d.text)), columns: map[string]int{}, lists: r.o.ListSeparator}
	t.rows.Comma, t.rows.ReuseRecord = separator, true
	header, err := t.rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, d.at(1, 1, "the file is empty: there is no header")
	} else if err != nil {
		return nil, t.fault(err)
	}
	known := userColumns
	if !slices.Contains(header, headers["user_id"]) {
		if known = groupColumns; !slices.Contains(header, headers["id"]) {
			return nil, d.at(1, 1, "no column is %s, as people have, or %s, as groups have%s", spell.Quote(headers["user_id"]), spell.Quote(headers["id"]),
				nearest(header, headers["user_id"]))
		}
	}
	names := make([]string, len(known))
	for i, c := range known {
		names[i] = headers[c]
	}
	for i, h := range header {
		line, column := t.rows.FieldPos(i)
		at := slices.Index(names, h)
		switch {
		case slices.Index(header, h) < i:
			return nil, d.at(line, column, "the column %s is there twice", spell.Quote(h))
		case at >= 0:
			t.columns[known[at]] = i
		case !slices.Contains(r.o.IgnoreColumns, h):
			return nil, d.at(line, column, "unknown column %s%s: known are %s; or list it in %s", spell.Quote(h), nearest(names, h), spell.QuoteList(names), settingIgnoreColumns)
		}
	}
	return t, nil
}

func nearest(candidates []string, word string) string {
	if near := spell.Nearest(word, candidates); near != "" {
		return "; did you mean " + spell.Quote(near) + "?"
	}
	return ""
}

func (t *table) has(column string) bool { _, ok := t.columns[column]; return ok }

// present lists the known columns of the file in their own order.
func (t *table) present() []string {
	return slices.DeleteFunc(slices.Clone(userColumns), func(c string) bool { return !t.has(c) })
}

func (t *table) each(row func(*table) error) error {
	for {
		record, err := t.rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return t.fault(err)
		}
		t.record = record
		if err := row(t); err != nil {
			return err
		}
	}
}

// fault says what the CSV reader found, in the file's own position.
func (t *table) fault(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	message := parse.Err.Error()
	switch {
	case errors.Is(err, csv.ErrQuote) && t.beyond(parse.Line, parse.Column):
		return t.at(parse.StartLine, 1, "a quote is opened in this row and never closed")
	case errors.Is(err, csv.ErrQuote):
		message = "a quote inside a quoted field must be doubled"
	case errors.Is(err, csv.ErrBareQuote):
		message = "a quote in a field that does not begin with one"
	case errors.Is(err, csv.ErrFieldCount):
		message = "the row has not as many columns as the header"
	}
	return t.at(parse.Line, parse.Column, "%s", message)
}

// beyond reports that a position is not before the end of the text.
func (t *table) beyond(line, column int) bool {
	at := 0
	for ; line > 1; line-- {
		end := bytes.IndexByte(t.text[at:], '\n')
		if end < 0 {
			return true
		}
		at += end + 1
	}
	return at+column > len(t.text)
}

func (t *table) refuse(column, format string, args ...any) error {
	line, at := t.rows.FieldPos(t.columns[column])
	return t.at(line, at, format, args...)
}

// value is the field of a column, "" where the file has no such column.
func (t *table) value(column string) string {
	if i, ok := t.columns[column]; ok {
		return strings.Clone(t.record[i])
	}
	return ""
}

func (t *table) id(column string) (string, error) {
	value := t.value(column)
	if bad := badID(value); bad != "" {
		return "", t.refuse(column, "%s %s", column, bad)
	}
	return value, nil
}

// list takes a field apart; space around its members does not count.
func (t *table) list(column string) ([]string, error) {
	members := []string{}
	value := t.value(column)
	if strings.TrimSpace(value) == "" {
		return members, nil
	}
	for member := range strings.SplitSeq(value, t.lists) {
		member = strings.TrimSpace(member)
		if bad := badID(member); bad != "" {
			return nil, t.refuse(column, "a member of %s %s", column, bad)
		}
		members = append(members, member)
	}
	return members, nil
}

func (r *reading) userRow(t *table) error {
	id, err := t.id("user_id")
	if err != nil {
		return err
	}
	u := directory.User{UserID: id}
	if u.Active, err = t.truth("active"); err != nil {
		return err
	}
	if err := r.add(u); err != nil {
		return err
	}
	if t.value("manager") != "" {
		manager, err := t.id("manager")
		if err != nil {
			return err
		}
		if err := r.add(directory.ReportingEdge{UserID: id, ManagerID: manager}); err != nil {
			return err
		}
	}
	if t.has("orgs") {
		orgs, err := t.list("orgs")
		if err != nil {
			return err
		}
		if err := r.add(directory.OrgMembership{UserID: id, Orgs: orgs}); err != nil {
			return err
		}
	}
	if t.has("groups") {
		groups, err := t.list("groups")
		if err != nil {
			return err
		}
		return r.add(directory.Membership{UserID: id, Groups: groups})
	}
	return nil
}

func (r *reading) groupRow(t *table) error {
	g := directory.Group{Name: t.value("name"), Description: t.value("description")}
	var err error
	if g.ID, err = t.id("id"); err != nil {
		return err
	}
	if len(g.Name) > directory.MaxName {
		return t.refuse("name", "name is longer than %d bytes", directory.MaxName)
	}
	if len(g.Description) > directory.MaxText {
		return t.refuse("description", "description is longer than %d bytes", directory.MaxText)
	}
	if g.Parents, err = t.list("parents"); err != nil {
		return err
	}
	return r.add(g)
}

var truths = map[string]bool{"true": true, "yes": true, "1": true, "active": true, "enabled": true,
	"false": false, "no": false, "0": false, "inactive": false, "disabled": false}

// truth is nil where the field is empty: nothing is said.
func (t *table) truth(column string) (*bool, error) {
	value := t.value(column)
	if value == "" {
		return nil, nil
	}
	active, ok := truths[strings.ToLower(value)]
	if !ok {
		return nil, t.refuse(column, "%s is %s: it must be true or false (or yes, no, 1, 0, active, inactive, enabled, disabled), or empty", column, spell.Quote(value))
	}
	return &active, nil
}
