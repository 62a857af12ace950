package file_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/authzhost/authz/plugins/file/file"
	"github.com/authzhost/authz/sdk/plugin"
)

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		field, words string
		change       func(*file.Options)
	}{
		{"path", "empty", func(o *file.Options) { o.Path = "" }},
		{"format", `did you mean "json"`, func(o *file.Options) { o.Format = "jsn" }},
		{"files", "names of files", func(o *file.Options) { o.Files = []string{"../people.csv"} }},
		{"files", "each once", func(o *file.Options) { o.Files = []string{"a", "a"} }},
		{"max_bytes", "1 to", func(o *file.Options) { o.MaxBytes = 0 }},
		{"max_entries", "1 to", func(o *file.Options) { o.MaxEntries = 0 }},
		{"settle", "0s to", func(o *file.Options) { o.Settle = -1 }},
		{"separator", "one character", func(o *file.Options) { o.Separator = "::" }},
		{"separator", "one character", func(o *file.Options) { o.Separator = "\"" }},
		{"list_separator", "differ", func(o *file.Options) { o.ListSeparator = "," }},
		{"columns", "column=header", func(o *file.Options) { o.Columns = []string{"user_id"} }},
		{"columns", `did you mean "user_id"`, func(o *file.Options) { o.Columns = []string{"userid=No"} }},
		{"columns", "twice", func(o *file.Options) { o.Columns = []string{"user_id=No", "active=No"} }},
		{"columns", "another column", func(o *file.Options) { o.Columns = []string{"user_id=active"} }},
		{"user_active_attribute", "needed beside", func(o *file.Options) { o.ActiveValues = []string{"a"} }},
		{"user_active_attribute", "needs one of", func(o *file.Options) { o.Active = "status" }},
		{"user_inactive_bits", "negative", func(o *file.Options) { o.Active, o.InactiveBits = "status", -1 }},
		{"user_id", "empty", func(o *file.Options) { o.UserID = "" }},
		{"member_attributes", "empty", func(o *file.Options) { o.Members = nil }},
	} {
		o := file.Defaults("people.csv")
		if _, err := file.Open(o); err != nil {
			t.Fatal(err)
		}
		c.change(&o)
		_, err := file.Open(o)
		var refused *plugin.ConfigError
		if !errors.As(err, &refused) || refused.Field != c.field || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s, %s: %T %v", c.field, c.words, err, err)
		}
	}
}
