package verify

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// nested are constructs that nest without an end: what repeats, and what surrounds
// it.
var nested = []struct{ name, before, open, middle, close string }{
	{"brackets", "x = ", "[", "1", "]"},
	{"parentheses", "x = ", "(", "1", ")"},
	{"braces", "", "{", "", "}"},
	{"objects", "x = ", "{a:", "1", "}"},
	{"calls", "x = ", "f(", "1", ")"},
	{"arrows", "x = ", "a=>", "1", ""},
	{"arrows with parentheses", "x = ", "(a)=>", "1", ""},
	{"not", "x = ", "!", "1", ""},
	{"minus", "x = ", "- ", "1", ""},
	{"typeof", "x = ", "typeof ", "1", ""},
	{"await", "x = ", "await ", "1", ""},
	{"new", "x = ", "new ", "X", ""},
	{"assignment", "", "a=", "1", ""},
	{"addition", "x = ", "1+", "1", ""},
	{"power", "x = ", "1**", "1", ""},
	{"members", "x = a", ".b", "", ""},
	{"element access", "x = a", "[0]", "", ""},
	{"call chain", "x = a", "()", "", ""},
	{"conditional", "x = ", "a?b:", "1", ""},
	{"conditional in the middle", "x = ", "a?", "1", ":b"},
	{"else if", "", "if(a);else ", ";", ""},
	{"else if behind a comment", "", "if(a);/**/else ", ";", ""},
	{"else if behind a form feed", "", "if(a);\felse ", ";", ""},
	{"else if behind a space of Unicode", "", "if(a);\u00a0else ", ";", ""},
	{"else if with an escape", "", "if(a);\\u0065lse ", ";", ""},
	{"if", "", "if(a)", ";", ""},
	{"for", "", "for(;;)", ";", ""},
	{"labels", "", "a:", ";", ""},
	{"do", "", "do ", ";", ""},
	{"templates", "x = ", "`${", "1", "}`"},
	{"assertions", "x = ", "<T>", "1", ""},
	{"as", "x = 1", " as T", "", ""},
	{"type operators", "type A = ", "keyof ", "B", ""},
	{"type arguments", "type A = ", "A<", "B", ">"},
	{"type arguments with commas", "type A = ", "A<B,", "B", ">"},
	{"function types", "type A = ", "()=>", "B", ""},
	{"conditional types", "type A = ", "A extends B?C:", "D", ""},
	{"array types", "type A = B", "[]", "", ""},
	{"classes", "x = ", "class extends ", "A", "{}"},
	{"classes behind commas", "x = ", "class extends A, ", "A", "{}"},
	{"namespaces", "namespace a", ".b", "{}", ""},
	{"functions", "", "function f(){", "", "}"},
	{"binding patterns", "let ", "[", "a", "]=1"},
	{"elements", "x = ", "<a>", "", "</a>"},
	{"fragments", "x = ", "<>", "", "</>"},
	{"attributes", "x = ", "<a b={", "1", "}/>"},
	{"elements around what ends a tag in code", "x = ", "<a>;/>", "", "</a>"},
	{"elements between apostrophes", "x = <a>'", "<a>", "'</a>", "</a>"},
	{"elements between slashes", "x = <a>=/", "<a>", "/</a>", "</a>"},
	{"elements between backticks", "x = <a>`", "<a>", "`</a>", "</a>"},
	{"decorators", "", "@a ", "class A {}", ""},
}

func (s *Scanner) scanString(file, text string) (FileReport, error) {
	return s.scanText(file, []byte(text))
}

func TestDeepNestingIsReadOrRefused(t *testing.T) {
	s := newTestScanner(t, Config{})
	for _, n := range nested {
		t.Run(n.name, func(t *testing.T) {
			build := func(levels int) string {
				return n.before + strings.Repeat(n.open, levels) + n.middle + strings.Repeat(n.close, levels) + "\n;can(" + bad + ");"
			}
			file := "a.ts"
			if strings.HasPrefix(n.open, "<") && n.name != "assertions" {
				file = "a.tsx"
			}
			r, err := s.scanString(file, build(10_000))
			if err != nil || len(r.Findings) != 1 {
				t.Errorf("10,000 levels: %d findings and %v, want one", len(r.Findings), err)
			}
			if _, err := s.scanString(file, build(1_000_000)); !errors.Is(err, errTooDeep) {
				t.Errorf("1,000,000 levels: %v, want %v", err, errTooDeep)
			}
			if os.Getenv("AUTHZ_FULL") == "" {
				t.Log("SKIPPED: the deepest sources that are still read, without AUTHZ_FULL")
				return
			}
			// As many levels as fit into the bytes that are read without a look, and
			// as the guard lets through.
			if _, err := s.scanString(file, build((maxDepth-100)/len(n.open+n.close))); err != nil {
				t.Errorf("%d bytes: %v", maxDepth, err)
			}
			low, high := 1000, 1_000_000
			for low+1 < high {
				if mid := (low + high) / 2; nestsTooDeep(build(mid), file == "a.tsx") {
					high = mid
				} else {
					low = mid
				}
			}
			if _, err := s.scanString(file, build(low)); err != nil {
				t.Errorf("%d levels: %v", low, err)
			}
		})
	}
}

func TestLargeSourcesThatAreNotDeepAreRead(t *testing.T) {
	for name, line := range map[string]string{
		"statements without semicolons": "export const icon%d = createIcon('a', [1, 2, { b: true }])\n",
		"statements":                    "const a%d = x < y ? /[({]/ : b;\n",
		"table":                         "",
		"class":                         "",
	} {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, line, i)
		}
		text := b.String()
		switch name {
		case "table":
			text = "export const table = [" + strings.Repeat("{ a: 1, b: ['x', \"don't\"] },\n", 60_000) + "];"
		case "class":
			text = "class A {" + strings.Repeat("  get a(): Map<string, X> { return this.b as Map<string, X>; }\n", 10_000) + "}"
		}
		if nestsTooDeep(text, false) || nestsTooDeep(text, true) {
			t.Errorf("%s: %d bytes read as too deep", name, len(text))
		}
	}
}

func newTestScanner(t testing.TB, config Config) *Scanner {
	t.Helper()
	if config.Catalog == nil {
		config.Catalog = exampleCatalog(t)
	}
	s, err := NewScanner(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
