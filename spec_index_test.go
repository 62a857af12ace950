package authz_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// specIndex is the page that has the indexes of the specification.
const specIndex = specDir + "README.md"

var (
	indexLink = regexp.MustCompile(`\[[a-z-]+ \x{a7}[\d.]+\]\(([a-z-]+\.md)#([^)]+)\)`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	bold      = regexp.MustCompile(`^\*\*([^*]+)\*\*`)
)

// inGo are names that the chapters give as the type in Go.
var inGo = map[string]string{"StorageError": "storage.Error"}

// Every word of the glossary stands in the index of terms, each term once.
func TestTheIndexOfTermsHasTheGlossary(t *testing.T) {
	files := tracked(t)
	var terms []string
	for _, row := range rows(t, files[specIndex], "## Index of terms") {
		term, _, _ := strings.Cut(row[0], " (")
		terms = append(terms, term)
		if !indexLink.MatchString(row[1]) {
			t.Errorf("%s leads nowhere", term)
		}
	}
	if !slices.IsSortedFunc(terms, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		t.Error("the terms are not in alphabetical order")
	}
	if unique := slices.Compact(slices.Clone(terms)); len(unique) != len(terms) {
		t.Error("a term stands twice")
	}
	words := 0
	for line := range strings.Lines(files["docs/glossary.md"]) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		word := bold.FindStringSubmatch(strings.TrimSpace(cells[1]))
		if word == nil {
			continue
		}
		if words++; !slices.Contains(terms, word[1]) {
			t.Errorf("the glossary's %q is not in the index", word[1])
		}
	}
	if words < 70 {
		t.Errorf("the glossary has %d words", words)
	}
}

// The index of errors has every name and code that the code declares and no other, and
// leads to sections that speak of it.
func TestTheIndexOfErrorsIsWhole(t *testing.T) {
	files := tracked(t)
	declared := declaredErrors(t)
	indexed := map[string]bool{}
	for _, row := range rows(t, files[specIndex], "## Index of errors") {
		places := indexLink.FindAllStringSubmatch(row[len(row)-1], -1)
		if len(places) == 0 {
			t.Errorf("%s leads nowhere", row[0])
		}
		for _, of := range quoted.FindAllStringSubmatch(strings.Join(row[1:len(row)-1], ""), -1) {
			if !declared.names[of[1]] {
				t.Errorf("%s: nothing is called %s", row[0], of[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(row[0], -1) {
			word := m[1]
			if !declared.names[word] && !declared.codes[word] && !declared.types[word] {
				t.Errorf("%s is indexed and not declared", word)
			}
			if indexed[word] {
				t.Errorf("%s is indexed twice", word)
			}
			indexed[word] = true
			for _, place := range places {
				if !strings.Contains(sectionText(files[specDir+place[1]], place[2]), cmp.Or(inGo[word], word)) {
					t.Errorf("%s#%s does not speak of %s", place[1], place[2], word)
				}
			}
		}
	}
	if len(declared.names) < 20 || len(declared.codes) < 120 {
		t.Fatalf("found %d names and %d codes", len(declared.names), len(declared.codes))
	}
	for word := range declared.names {
		if !indexed[word] {
			t.Errorf("the name %s is not in the index", word)
		}
	}
	for word := range declared.codes {
		if !indexed[word] {
			t.Errorf("the code %s is not in the index", word)
		}
	}
}

// rows are the cells of the tables below a heading.
func rows(t *testing.T, page, heading string) (found [][]string) {
	t.Helper()
	_, text, ok := strings.Cut(page, heading+"\n")
	if !ok {
		t.Fatalf("%s has no %q", specIndex, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		head := n+1 < len(lines) && strings.HasPrefix(lines[n+1], "| ---")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || head {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		found = append(found, cells)
	}
	return found
}

// sectionText is a section with those below it.
func sectionText(chapter, anchor string) string {
	var text strings.Builder
	level, fenced := 0, false
	d := document{sections: map[string]string{}, anchors: map[string]bool{}}
	for line := range strings.Lines(chapter) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if hashes := len(line) - len(strings.TrimLeft(line, "#")); !fenced && hashes > 0 {
			here := d.add(line)
			switch {
			case here == anchor:
				level = hashes
			case hashes <= level:
				return text.String()
			}
		}
		if level > 0 {
			text.WriteString(line)
		}
	}
	return text.String()
}

// errorWords are what an error is called: its name, the codes that it has, and types
// that have neither.
type errorWords struct{ names, codes, types map[string]bool }

// declaredErrors reads the sources: the names that ErrorName answers, constants of the
// codes, and the hosted API's table.
func declaredErrors(t *testing.T) errorWords {
	t.Helper()
	found := errorWords{names: map[string]bool{"Error": true}, codes: map[string]bool{"unavailable": true}, types: map[string]bool{}}
	unindexed := map[string]bool{}
	for _, root := range []string{"sdk", "host"} {
		err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".pb.go") {
				return err
			}
			source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, declaration := range source.Decls {
				switch d := declaration.(type) {
				case *ast.FuncDecl:
					if d.Name.Name == "ErrorName" && d.Body != nil && len(d.Body.List) == 1 {
						if result, ok := d.Body.List[0].(*ast.ReturnStmt); ok {
							add(found.names, result.Results[0])
						}
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						found.read(file, spec, unindexed)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(unindexed) == 0 {
		t.Error("no code goes out as another one")
	}
	for code := range unindexed {
		delete(found.codes, code)
	}
	return found
}

// codeTypes are the types of codes, and of the words that stand in their place.
var codeTypes = []string{"Code", "APICode", "MeshCode", "PromotionCode", "DenialReason", "HashChainReason"}

// read takes a declaration. The tables of the hosted API are its classes and what is
// told as another code.
func (e errorWords) read(file string, spec ast.Spec, unindexed map[string]bool) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if _, ok := s.Type.(*ast.StructType); ok && strings.HasSuffix(s.Name.Name, "Error") && s.Name.IsExported() {
			e.types[s.Name.Name] = true
		}
	case *ast.ValueSpec:
		kind, _ := s.Type.(*ast.Ident)
		for n, value := range s.Values {
			name := s.Names[n].Name
			switch table, ok := value.(*ast.CompositeLit); {
			case kind != nil && slices.Contains(codeTypes, kind.Name),
				strings.HasPrefix(name, "Code") && strings.HasPrefix(file, filepath.Join("sdk", "catalog")):
				add(e.codes, value)
			case ok && name == "classes" && strings.HasPrefix(file, filepath.Join("host", "api", "hosted")):
				for _, element := range table.Elts {
					row := element.(*ast.KeyValueExpr)
					class := row.Value.(*ast.CompositeLit).Elts[1]
					add(e.names, class)
					if row.Key.(*ast.BasicLit).Value != class.(*ast.BasicLit).Value { // else it has no code
						add(e.codes, row.Key)
					}
				}
			case name == "CodeProviderDown": // the hosted API tells it as "internal"
				add(unindexed, value)
			}
		}
	}
}

func add(words map[string]bool, value ast.Expr) {
	literal, ok := value.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	if word, err := strconv.Unquote(literal.Value); err == nil {
		words[word] = true
	}
}
