package file

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/plugin"
)

// Options are the settings of an importer; those of Plugin say what each means, and
// Defaults what they usually are.
type Options struct {
	Path, Format         string
	Files                []string
	MaxBytes, MaxEntries int64
	Settle               time.Duration

	Separator, ListSeparator string
	Columns, IgnoreColumns   []string

	UserClasses                        []string
	UserID, Active, Manager            string
	ActiveValues, InactiveValues, Orgs []string
	InactiveBits                       int64
	GroupClasses                       []string
	GroupID, GroupName, Description    string
	Members                            []string
}

func (o *Options) check() error {
	if o.Path == "" {
		return refuse(settingPath, "is empty")
	}
	if o.Format != "" && !slices.Contains(formats, o.Format) {
		return &plugin.ConfigError{Field: settingFormat, Message: "must be one of " + spell.QuoteList(formats), Suggestion: spell.Nearest(o.Format, formats)}
	}
	for i, name := range o.Files {
		if name == "" || name != filepath.Base(name) || name == "." || name == ".." || slices.Contains(o.Files[:i], name) {
			return refuse(settingFiles, "must hold names of files in the folder, each once")
		}
	}
	if o.MaxBytes < 1 || o.MaxBytes > 1<<30 {
		return refuse(settingMaxBytes, fmt.Sprintf("must be 1 to %d", 1<<30))
	}
	if o.MaxEntries < 1 || o.MaxEntries > 20_000_000 {
		return refuse(settingMaxEntries, "must be 1 to 20000000")
	}
	if o.Settle < 0 || o.Settle > time.Minute {
		return refuse(settingSettle, "must be 0s to 1m")
	}
	if err := o.checkCSV(); err != nil {
		return err
	}
	return o.checkLDIF()
}

func (o *Options) checkCSV() error {
	for _, s := range []struct{ name, value string }{{settingSeparator, o.Separator}, {settingListSeparator, o.ListSeparator}} {
		if r, size := utf8.DecodeRuneInString(s.value); size == 0 || size != len(s.value) || r == '"' || r == '\r' || r == '\n' || r == utf8.RuneError || r == 0xFEFF {
			return refuse(s.name, "must be one character, and no quote")
		}
	}
	if o.Separator == o.ListSeparator {
		return refuse(settingListSeparator, "must differ from "+settingSeparator)
	}
	if _, err := o.headers(); err != nil {
		return err
	}
	return nil
}

func (o *Options) checkLDIF() error {
	ways := 0
	for _, given := range []bool{len(o.ActiveValues) > 0, len(o.InactiveValues) > 0, o.InactiveBits != 0} {
		if given {
			ways++
		}
	}
	switch {
	case o.Active == "" && ways > 0:
		return refuse(settingActive, "is needed beside its values or bits")
	case o.Active != "" && ways != 1:
		return refuse(settingActive, "needs one of "+settingActiveValues+", "+settingInactiveValues+" and "+settingInactiveBits)
	case o.InactiveBits < 0:
		return refuse(settingInactiveBits, "must not be negative")
	}
	for _, s := range []struct {
		name  string
		value []string
	}{{settingUserClasses, o.UserClasses}, {settingUserID, []string{o.UserID}}, {settingGroupClasses, o.GroupClasses},
		{settingGroupID, []string{o.GroupID}}, {settingGroupName, []string{o.GroupName}}, {settingMembers, o.Members}} {
		if len(s.value) == 0 || slices.Contains(s.value, "") {
			return refuse(s.name, "must not be empty")
		}
	}
	return nil
}

// The columns that the two kinds of CSV may have. The first identifies.
var (
	userColumns  = []string{"user_id", "active", "manager", "orgs", "groups"}
	groupColumns = []string{"id", "name", "description", "parents"}
)

// headers says what each column is called in the files.
func (o *Options) headers() (map[string]string, error) {
	known := slices.Concat(userColumns, groupColumns)
	headers := make(map[string]string, len(known))
	for _, c := range known {
		headers[c] = c
	}
	given, called := map[string]bool{}, map[string]bool{}
	for _, c := range o.Columns {
		column, header, ok := strings.Cut(c, "=")
		switch {
		case !ok || strings.TrimSpace(header) == "":
			return nil, refuse(settingColumns, "must be of the form column=header")
		case !slices.Contains(known, column):
			return nil, &plugin.ConfigError{Field: settingColumns, Message: "names the column " + spell.Quote(column) + ", which is none of " + strings.Join(known, ", "),
				Suggestion: spell.Nearest(column, known)}
		case given[column] || called[header]:
			return nil, refuse(settingColumns, "names "+spell.Quote(c)+" twice")
		}
		given[column], called[header] = true, true
		headers[column] = header
	}
	for _, c := range known {
		if called[headers[c]] && !given[c] {
			return nil, refuse(settingColumns, "gives "+spell.Quote(c)+" to another column: say what that column is called")
		}
	}
	return headers, nil
}

func refuse(setting, message string) error {
	return &plugin.ConfigError{Field: setting, Message: message}
}
