package directory_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// reading is a sequence of entries, with an error behind them unless it is nil.
func reading(err error, entries ...directory.Entry) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

var (
	all  = directory.Begin{Datasets: directory.Datasets()}
	done = directory.End{Cursor: "c1"}
)

func of(active bool) *bool { return &active }

func TestACompleteReadingIsASnapshot(t *testing.T) {
	got, err := directory.Collect(reading(nil, all,
		directory.User{UserID: "zoe", Active: of(true)},
		directory.Membership{UserID: "zoe", Groups: []string{"b", "a", "b"}},
		directory.Group{ID: "b", Name: "B", Parents: []string{"a"}},
		directory.Warning{Message: "a line\nof the directory"},
		directory.ReportingEdge{UserID: "zoe", ManagerID: "ann"},
		directory.OrgMembership{UserID: "zoe", Orgs: []string{"o"}},
		directory.User{UserID: "ann"},
		directory.Group{ID: "a", Description: "first"},
		done), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Collected{
		Snapshot: directory.Snapshot{
			Groups:         []directory.Group{{ID: "a", Description: "first", Parents: []string{}}, {ID: "b", Name: "B", Parents: []string{"a"}}},
			Users:          []directory.User{{UserID: "ann"}, {UserID: "zoe", Active: of(true)}},
			Memberships:    map[string][]string{"zoe": {"b", "a"}},
			ReportingEdges: map[string]string{"zoe": "ann"},
			Orgs:           map[string][]string{"zoe": {"o"}},
		},
		Begin: all, End: done, Entries: 10, Warnings: []string{`a line\x0aof the directory`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestADatasetThatIsListedAndEmptyIsNotUnknown(t *testing.T) {
	got, err := directory.Collect(reading(nil, directory.Begin{Datasets: []directory.ImporterCapability{directory.CapUsers, directory.CapMemberships}}, done), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := got.Snapshot
	if s.Users == nil || s.Memberships == nil || s.Groups != nil || s.Orgs != nil || s.ReportingEdges != nil {
		t.Errorf("%#v", s)
	}
}

func TestWhatIsToldTwiceIsUnitedWithAWarningEach(t *testing.T) {
	got, err := directory.Collect(reading(nil, all,
		directory.Group{ID: "g", Name: "first", Parents: []string{"p"}},
		directory.Group{ID: "g", Name: "second", Description: "d", Parents: []string{"q", "p"}},
		directory.User{UserID: "u", Active: of(false)}, directory.User{UserID: "u"}, directory.User{UserID: "u", Active: of(true)}, directory.User{UserID: "u", Active: of(false)},
		directory.User{UserID: "v"}, directory.User{UserID: "v", Active: of(false)},
		directory.Membership{UserID: "u", Groups: []string{"g"}}, directory.Membership{UserID: "u"}, directory.Membership{UserID: "u", Groups: []string{"h", "g"}},
		directory.ReportingEdge{UserID: "u", ManagerID: "first"}, directory.ReportingEdge{UserID: "u", ManagerID: "second"},
		directory.OrgMembership{UserID: "u", Orgs: []string{"o"}}, directory.OrgMembership{UserID: "u", Orgs: []string{"p"}},
		done), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Snapshot{
		Groups:         []directory.Group{{ID: "g", Name: "first", Description: "d", Parents: []string{"p", "q"}}},
		Users:          []directory.User{{UserID: "u", Active: of(true)}, {UserID: "v", Active: of(false)}},
		Memberships:    map[string][]string{"u": {"g", "h"}},
		ReportingEdges: map[string]string{"u": "first"},
		Orgs:           map[string][]string{"u": {"o", "p"}},
	}
	if diff := cmp.Diff(want, got.Snapshot); diff != "" {
		t.Error(diff)
	}
	user := `the user "u" was told twice: active if either is`
	if diff := cmp.Diff([]string{
		`the group "g" was told twice: its parents are united, its first name stays`,
		user, user, user, `the user "v" was told twice: active if either is`,
		`the memberships of the user "u" were told twice: they are united`, `the memberships of the user "u" were told twice: they are united`,
		`the manager of the user "u" was told twice: "first" stays`,
		`the orgs of the user "u" were told twice: they are united`,
	}, got.Warnings); diff != "" {
		t.Error(diff)
	}
}

// alien is an entry of nobody's protocol.
type alien struct{ directory.Entry }

func TestAReadingThatBreaksTheRulesIsRefused(t *testing.T) {
	some := func(d ...directory.ImporterCapability) directory.Begin { return directory.Begin{Datasets: d} }
	many := func(n int, prefix string) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprintf("%s%d", prefix, i))
		}
		return ids
	}
	for name, c := range map[string]struct {
		entries []directory.Entry
		want    string
	}{
		"nothing at all":               {nil, "empty"},
		"no Begin":                     {[]directory.Entry{directory.User{UserID: "u"}, done}, "entry 1 of the reading: the first entry must be a Begin, not User"},
		"an End alone":                 {[]directory.Entry{done}, "first entry must be a Begin"},
		"a warning before the Begin":   {[]directory.Entry{directory.Warning{Message: "w"}, all, done}, "first entry must be a Begin"},
		"two Begins":                   {[]directory.Entry{all, all, done}, "one Begin"},
		"no End":                       {[]directory.Entry{all, directory.User{UserID: "u"}}, "no End after 2 entries"},
		"two Ends":                     {[]directory.Entry{all, done, done}, "nothing may follow the End, but End did"},
		"a user after the End":         {[]directory.Entry{all, done, directory.User{UserID: "u"}}, "nothing may follow the End, but User did"},
		"an entry of no kind":          {[]directory.Entry{all, alien{}, done}, "is no entry"},
		"no entry":                     {[]directory.Entry{all, nil, done}, "nothing is no entry"},
		"an unknown dataset":           {[]directory.Entry{some("people"), done}, `there is no dataset "people"`},
		"a capability for a dataset":   {[]directory.Entry{some(directory.CapIncremental), done}, "no dataset"},
		"a dataset twice":              {[]directory.Entry{some(directory.CapUsers, directory.CapUsers), done}, "twice"},
		"a negative count":             {[]directory.Entry{directory.Begin{Expected: -1}, done}, "negative"},
		"a user that was not listed":   {[]directory.Entry{some(directory.CapGroups), directory.User{UserID: "u"}, done}, "dataset users, which Begin does not list"},
		"a group that was not listed":  {[]directory.Entry{some(directory.CapUsers), directory.Group{ID: "g"}, done}, "dataset groups"},
		"a membership not listed":      {[]directory.Entry{some(directory.CapUsers), directory.Membership{UserID: "u"}, done}, "dataset memberships"},
		"an edge not listed":           {[]directory.Entry{some(directory.CapUsers), directory.ReportingEdge{UserID: "u", ManagerID: "m"}, done}, "dataset reporting"},
		"orgs not listed":              {[]directory.Entry{some(directory.CapUsers), directory.OrgMembership{UserID: "u"}, done}, "dataset orgs"},
		"a user without an id":         {[]directory.Entry{all, directory.User{}, done}, "userId must be a non-empty string"},
		"a group without an id":        {[]directory.Entry{all, directory.Group{Name: "x"}, done}, "group id must be a non-empty string"},
		"a member of no group":         {[]directory.Entry{all, directory.Membership{UserID: "u", Groups: []string{""}}, done}, "group id must be a non-empty string"},
		"a manager without an id":      {[]directory.Entry{all, directory.ReportingEdge{UserID: "u"}, done}, "managerId must be a non-empty string"},
		"an id that is too long":       {[]directory.Entry{all, directory.User{UserID: strings.Repeat("u", directory.MaxID+1)}, done}, "longer than 1024"},
		"a name that is too long":      {[]directory.Entry{all, directory.Group{ID: "g", Name: strings.Repeat("n", directory.MaxName+1)}, done}, "longer than 1024"},
		"a description that is":        {[]directory.Entry{all, directory.Group{ID: "g", Description: strings.Repeat("n", directory.MaxText+1)}, done}, "longer than 65536"},
		"a cursor that is":             {[]directory.Entry{all, directory.End{Cursor: strings.Repeat("n", directory.MaxText+1)}}, "cursor is longer"},
		"an id that is no text":        {[]directory.Entry{all, directory.User{UserID: "\xff"}, done}, "UTF-8"},
		"an id with a zero":            {[]directory.Entry{all, directory.User{UserID: "a\x00b"}, done}, "U+0000"},
		"a list that is too long":      {[]directory.Entry{all, directory.Membership{UserID: "u", Groups: many(directory.MaxList+1, "g")}, done}, "a list of more than 10000 ids"},
		"a list that becomes too long": {[]directory.Entry{all, directory.Membership{UserID: "u", Groups: many(directory.MaxList, "g")}, directory.Membership{UserID: "u", Groups: []string{"h"}}, done}, "once what was told twice is united"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := directory.Collect(reading(nil, c.entries...), nil)
			if authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want it to say %q", err, c.want)
			}
			if diff := cmp.Diff(directory.Collected{}, got); diff != "" {
				t.Errorf("a part of it is answered: %s", diff)
			}
		})
	}
}

func TestTheLongestTextsAreTaken(t *testing.T) {
	_, err := directory.Collect(reading(nil, all,
		directory.Group{ID: strings.Repeat("g", directory.MaxID), Name: strings.Repeat("n", directory.MaxName), Description: strings.Repeat("d", directory.MaxText)},
		done), nil)
	if err != nil {
		t.Error(err)
	}
}

func TestAnErrorOfTheSequenceIsReturnedAsItIs(t *testing.T) {
	lost := &authz.UnavailableError{Message: "the directory hung up"}
	for _, entries := range [][]directory.Entry{{}, {all}, {all, directory.User{UserID: "u"}}, {all, done}} {
		if _, err := directory.Collect(reading(lost, entries...), nil); !errors.Is(err, lost) {
			t.Errorf("after %d entries: %v", len(entries), err)
		}
	}
}

func TestAReadingThatIsRefusedIsReadNoFurther(t *testing.T) {
	asked, ended := 0, false
	endless := func(yield func(directory.Entry, error) bool) {
		defer func() { ended = true }()
		if !yield(all, nil) {
			return
		}
		for ; ; asked++ {
			if !yield(directory.User{UserID: ""}, nil) {
				return
			}
		}
	}
	if _, err := directory.Collect(endless, nil); err == nil || asked != 0 || !ended {
		t.Errorf("%v after %d more entries, ended: %v", err, asked, ended)
	}
}

func TestAReadingHasAnEndEvenWhenItsImporterFindsNone(t *testing.T) {
	entries := func(more directory.Entry) iter.Seq2[directory.Entry, error] {
		return func(yield func(directory.Entry, error) bool) {
			for ok := yield(all, nil); ok; ok = yield(more, nil) {
			}
		}
	}
	for name, c := range map[string]struct {
		more directory.Entry
		want string
	}{
		"the same user again and again": {directory.User{UserID: "u"}, "more than 2000000 entries"},
		"warnings":                      {directory.Warning{Message: "w"}, "more than 2000000 entries"},
		"one large description":         {directory.Group{ID: "g", Description: strings.Repeat("d", directory.MaxText)}, "larger than"},
	} {
		if _, err := directory.Collect(entries(c.more), nil); authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWarningsAreBoundedAndTheRestIsCounted(t *testing.T) {
	entries := []directory.Entry{all, directory.Warning{Message: strings.Repeat("é", 2000) + "\xff"}}
	for range directory.MaxWarnings + 41 {
		entries = append(entries, directory.User{UserID: "u"})
	}
	got, err := directory.Collect(reading(nil, append(entries, done)...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Warnings); n != directory.MaxWarnings+1 || got.Warnings[n-1] != "and 41 more warnings" {
		t.Errorf("%d warnings, the last %q", n, got.Warnings[n-1])
	}
	if n := len([]rune(got.Warnings[0])); n > directory.MaxWarning+20 {
		t.Errorf("a warning of %d characters", n)
	}
}

func TestTheReaderIsToldHowFarItIs(t *testing.T) {
	entries := []directory.Entry{all}
	for i := range 2500 {
		entries = append(entries, directory.User{UserID: fmt.Sprint(i)})
	}
	var told []int
	if _, err := directory.Collect(reading(nil, append(entries, done)...), func(n int) { told = append(told, n) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1000, 2000, 2502}, told); diff != "" {
		t.Error(diff)
	}
}

func distinct(list []string) []string {
	seen := map[string]bool{}
	for _, v := range list {
		seen[v] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
