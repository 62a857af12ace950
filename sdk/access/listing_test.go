package access_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// forest is a table of rows, each a scope, with the parents of every scope.
type forest struct {
	scopes  []string
	parents map[string][]string
}

// ancestry is the row's own scope and everything above it, nearest first.
func (f forest) ancestry(scope string) []string {
	chain := []string{scope}
	for i := 0; i < len(chain); i++ {
		for _, p := range f.parents[chain[i]] {
			if !slices.Contains(chain, p) {
				chain = append(chain, p)
			}
		}
	}
	return chain
}

// hostileScope draws ids that SQL, LIKE or a path would read as syntax.
func hostileScope() *rapid.Generator[string] {
	instance := rapid.OneOf(
		rapid.SampledFrom([]string{"1", "2", "a", "A", "%", "_", "%%", "a_", "ab", `\`, `a\`, "'", "') OR 1=1 --", "/", "a/", "/a", "a/b", "//",
			"::", ":", "1::", "|", ".", "*", " ", "é", "e\u0301", "$1", "?", "\x00", "a\x00b", "\xff", "\xfe", "1/docs.folder:2"}),
		rapid.StringOfN(rapid.SampledFrom([]rune(`aA1%_\/|:.'"`)), 1, 4, -1))
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"docs.folder:", "docs.doc:"}).Draw(t, "type") + instance.Draw(t, "instance")
	})
}

func drawForest(t *rapid.T, maxParents int) forest {
	f := forest{scopes: rapid.SliceOfNDistinct(hostileScope(), 1, 10, rapid.ID[string]).Draw(t, "rows"), parents: map[string][]string{}}
	for i, s := range f.scopes[1:] {
		f.parents[s] = rapid.SliceOfNDistinct(rapid.SampledFrom(f.scopes[:i+1]), 0, maxParents, rapid.ID[string]).Draw(t, "parents")
	}
	return f
}

// drawSet draws what GrantedScopes answers: "*", rows, and scopes of no row.
func (f forest) drawSet(t *rapid.T, label string) []string {
	one := rapid.OneOf(rapid.SampledFrom(f.scopes), rapid.SampledFrom(f.scopes), hostileScope(),
		rapid.Map(rapid.IntRange(0, 3), func(n int) string { return []string{"*", "docs.folder:none", "docs.doc:none", "docs.flat:1"}[n] }))
	return rapid.SliceOfN(one, 0, 5).Draw(t, label)
}

// visible is the row filter (spec: access §12): granted at the row, above it or
// globally, and revoked at none of these.
func (f forest) visible(row string, granted, revoked []string) bool {
	chain := append(f.ancestry(row), "*")
	in := func(set []string) bool {
		return slices.ContainsFunc(chain, func(s string) bool { return slices.Contains(set, s) })
	}
	return in(granted) && !in(revoked)
}

// listed carries a plan out, given the two conditions as they hold for the row.
func listed(plan access.ListingPlan, row string, matches func(row string, scopes []string) bool) bool {
	switch plan.Mode {
	case access.ListNone:
		return false
	case access.ListAll:
		return true
	case access.ListAllExcept:
		return !matches(row, plan.Exclude)
	case access.ListScoped:
		return matches(row, plan.Include) && !matches(row, plan.Exclude)
	}
	panic("no mode " + plan.Mode)
}

func TestAPlanListsByClosureTableExactlyTheVisibleRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawForest(t, 2)
		granted, revoked := f.drawSet(t, "granted"), f.drawSet(t, "revoked")
		matches := func(row string, scopes []string) bool {
			sql, err := access.ClosureFilter(scopes, access.ClosureOptions{ClosureTable: "c", AncestorColumn: "a", DescendantColumn: "d", RowIDExpr: "r.id"})
			if err != nil {
				t.Fatal(err)
			}
			want := "FALSE"
			if len(scopes) > 0 {
				want = "EXISTS (SELECT 1 FROM c WHERE c.d = r.id AND c.a IN (" + strings.Repeat(", ?", len(scopes))[2:] + "))"
			}
			if sql.Text != want || len(sql.Params) != len(scopes) {
				t.Fatalf("SQL of %d scopes is %q with %d parameters", len(scopes), sql.Text, len(sql.Params))
			}
			return slices.ContainsFunc(f.ancestry(row), func(s string) bool { return slices.Contains(sql.Params, any(s)) })
		}
		plan := access.PlanListing(granted, revoked)
		for _, row := range f.scopes {
			if got, want := listed(plan, row, matches), f.visible(row, granted, revoked); got != want {
				t.Fatalf("row %q listed: %v, want %v by plan %+v", row, got, want, plan)
			}
		}
	})
}

func TestAPlanListsByPathExactlyTheVisibleRowsOrRefusesTheToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawForest(t, 1)
		separator := rapid.SampledFrom([]string{"/", "|", "%", "_", `\`, "//", "::", "aba", "'"}).Draw(t, "separator")
		granted, revoked := f.drawSet(t, "granted"), f.drawSet(t, "revoked")
		plan := access.PlanListing(granted, revoked)

		forged := func(s string) bool { return !holdsInPath(s, separator) }
		options := access.PathOptions{PathColumn: "p", Separator: separator}
		if asked := slices.Concat(plan.Include, plan.Exclude); slices.ContainsFunc(asked, forged) {
			sql, err := access.PathFilter(asked, options)
			var refused *access.ScopeTokenError
			if !errors.As(err, &refused) || !forged(refused.Scope) || sql.Text != "" {
				t.Fatalf("scopes %q by %q: %+v, %v", asked, separator, sql, err)
			}
			return
		}
		matches := func(row string, scopes []string) bool {
			sql, err := access.PathFilter(scopes, options)
			if err != nil {
				t.Fatal(err)
			}
			want := "FALSE"
			if len(scopes) > 0 {
				want = "(" + strings.Repeat(` OR p LIKE ? ESCAPE '\'`, len(scopes))[4:] + ")"
			}
			if sql.Text != want || len(sql.Params) != len(scopes) {
				t.Fatalf("SQL of %d scopes is %q with %d parameters", len(scopes), sql.Text, len(sql.Params))
			}
			path := separator
			for _, s := range slices.Backward(f.ancestry(row)) {
				path += s + separator
			}
			return slices.ContainsFunc(sql.Params, func(p any) bool { return like(t, []rune(path), []rune(p.(string))) })
		}
		for _, row := range f.scopes {
			if slices.ContainsFunc(f.ancestry(row), forged) {
				continue // an application cannot keep this row by path
			}
			if got, want := listed(plan, row, matches), f.visible(row, granted, revoked); got != want {
				t.Fatalf("row %q listed: %v, want %v by separator %q and plan %+v", row, got, want, separator, plan)
			}
		}
	})
}

// holdsInPath reports that a token wrapped in separators shows the separator
// twice, at both ends, and is text that databases keep as it is.
func holdsInPath(token, separator string) bool {
	wrapped, found := separator+token+separator, 0
	for i := range len(wrapped) {
		if strings.HasPrefix(wrapped[i:], separator) {
			found++
		}
	}
	return found == 2 && strings.ToValidUTF8(token, "") == token && !strings.Contains(token, "\x00")
}

// like is SQL's LIKE with ESCAPE '\', case-sensitive.
func like(t *rapid.T, text, pattern []rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch pattern[0] {
	case '%':
		for i := range len(text) + 1 {
			if like(t, text[i:], pattern[1:]) {
				return true
			}
		}
		return false
	case '_':
		return len(text) > 0 && like(t, text[1:], pattern[1:])
	case '\\':
		if pattern = pattern[1:]; len(pattern) == 0 || !strings.ContainsRune(`\%_`, pattern[0]) {
			t.Fatal("the escape character escapes nothing")
		}
	}
	return len(text) > 0 && text[0] == pattern[0] && like(t, text[1:], pattern[1:])
}

func TestAPlanIsASortedSetAndLeavesItsInputsAlone(t *testing.T) {
	granted, revoked := []string{"b:2", "a:1", "b:2"}, []string{"d:1", "c:1", "c:1"}
	got, err := json.Marshal(access.PlanListing(granted, revoked))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"mode":"scoped","include":["a:1","b:2"],"exclude":["c:1","d:1"]}`; string(got) != want {
		t.Errorf("plan %s, want %s", got, want)
	}
	if diff := cmp.Diff([][]string{{"b:2", "a:1", "b:2"}, {"d:1", "c:1", "c:1"}}, [][]string{granted, revoked}); diff != "" {
		t.Errorf("inputs changed (-want +got)\n%s", diff)
	}
}

func TestOptionsWithoutWhichNoCorrectSQLExistsAreRefusedWhateverTheScopes(t *testing.T) {
	path := func(change func(*access.PathOptions)) func([]string) (access.SQL, error) {
		o := access.PathOptions{PathColumn: "path"}
		change(&o)
		return func(scopes []string) (access.SQL, error) { return access.PathFilter(scopes, o) }
	}
	closure := func(change func(*access.ClosureOptions)) func([]string) (access.SQL, error) {
		o := access.ClosureOptions{ClosureTable: "c", AncestorColumn: "a", DescendantColumn: "d", RowIDExpr: "r"}
		change(&o)
		return func(scopes []string) (access.SQL, error) { return access.ClosureFilter(scopes, o) }
	}
	for _, c := range []struct {
		option string
		build  func([]string) (access.SQL, error)
	}{
		{"PathColumn", path(func(o *access.PathOptions) { o.PathColumn = "" })},
		{"Separator", path(func(o *access.PathOptions) { o.Separator = "\x00" })},
		{"Separator", path(func(o *access.PathOptions) { o.Separator = "\xff" })},
		{"Placeholder", path(func(o *access.PathOptions) { o.Placeholder = ":n" })},
		{"StartParam", path(func(o *access.PathOptions) { o.StartParam = -1 })},
		{"ClosureTable", closure(func(o *access.ClosureOptions) { o.ClosureTable = "" })},
		{"AncestorColumn", closure(func(o *access.ClosureOptions) { o.AncestorColumn = "" })},
		{"DescendantColumn", closure(func(o *access.ClosureOptions) { o.DescendantColumn = "" })},
		{"RowIDExpr", closure(func(o *access.ClosureOptions) { o.RowIDExpr = "" })},
		{"Placeholder", closure(func(o *access.ClosureOptions) { o.Placeholder = "$1" })},
		{"StartParam", closure(func(o *access.ClosureOptions) { o.StartParam = -7 })},
	} {
		for _, scopes := range [][]string{nil, {"docs.folder:1"}} {
			sql, err := c.build(scopes)
			var refused *access.ListingOptionError
			if !errors.As(err, &refused) || refused.Option != c.option || sql.Text != "" {
				t.Errorf("%s for %q: %+v, %v", c.option, scopes, sql, err)
			}
		}
	}
}

func TestATokenThatCouldMatchAnotherScopeIsRefused(t *testing.T) {
	none := func(string) string { return "" }
	for name, c := range map[string]struct {
		token     string
		separator string
		want      string
	}{
		"it contains the separator":                 {"docs.doc:a/b", "/", `scope token "docs.doc:a/b" contains the path separator "/" — it would forge path boundaries`},
		"it ends as a long separator begins":        {"docs.doc:a/", "//", `scope token "docs.doc:a/" next to the path separator "//" would forge path boundaries`},
		"it begins as a long separator ends":        {"/docs.doc:a", "//", `scope token "/docs.doc:a" next to the path separator "//" would forge path boundaries`},
		"databases end a text at NUL":               {"docs.doc:a\x00b", "/", "scope token \"docs.doc:a\\u0000b\" must be UTF-8 without NUL"},
		"databases fold malformed bytes to one":     {"docs.doc:\xff", "/", "scope token \"docs.doc:\\ufffd\" must be UTF-8 without NUL"},
		"a message repeats at most 120 characters":  {strings.Repeat("a", 130) + "/", "/", `scope token "` + strings.Repeat("a", 120) + `…(+11 more)" contains the path separator "/" — it would forge path boundaries`},
		"an empty token would match empty segments": {"", "/", `scope token "" of scope "docs.doc:ok" is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			o := access.PathOptions{PathColumn: "path", Separator: c.separator, ScopeToToken: func(string) string { return c.token }}
			_, err := access.PathFilter([]string{"docs.doc:ok"}, o)
			var refused *access.ScopeTokenError
			if !errors.As(err, &refused) || refused.Scope != "docs.doc:ok" || refused.Token != c.token {
				t.Fatalf("error %#v", err)
			}
			if err.Error() != c.want {
				t.Errorf("message %s\nwant    %s", err, c.want)
			}
		})
	}
	_, err := access.ClosureFilter([]string{"docs.doc:1"}, access.ClosureOptions{ClosureTable: "c", AncestorColumn: "a", DescendantColumn: "d", RowIDExpr: "r", ScopeToToken: none})
	var refused *access.ScopeTokenError
	if !errors.As(err, &refused) || refused.Scope != "docs.doc:1" {
		t.Errorf("closure table, empty token: %v", err)
	}
}
