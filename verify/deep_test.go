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
	{"arrows over lines", "x = ", "a =>\n", "1", ""},
	{"assignments over lines", "", "a =\n", "1", ""},
	{"additions over lines", "x = 1", "\n+ b", "", ""},
	{"conditionals over lines", "x = ", "a ?\nb :\n", "1", ""},
	{"conditionals with lines that begin by signs", "x = a", "\n? b\n: c", "", ""},
	{"conditionals with bars", "x = ", "a ? b | c : d | ", "1", ""},
	{"else if over lines", "", "if (a)\nb\nelse ", "c", ""},
	{"else if around lines", "", "if (a)\nb = function () {\na\nb\n}\nelse ", "c", ""},
	{"else if around do", "", "if (a) do b\nwhile (c)\nelse ", "c", ""},
	{"else if around do with semicolons", "", "if(a)do;while(b);else ", "c", ""},
	{"else if around broken do", "", "if(a)do b;c;else ", "c", ""},
	{"else if around try", "", "if (a) try {}\ncatch {}\nelse ", "c", ""},
	{"else if around constants", "", "if (a)\nconst b = 1;else ", "c", ""},
	{"if over lines", "", "if (a)\n", "b", ""},
	{"if without brackets", "", "if a\n", "b", ""},
	{"for await over lines", "", "for await (a of b)\n", "c", ""},
	{"labels over lines", "", "a:\n", "b", ""},
	{"do over lines", "", "do\n", "b", ""},
	{"unary operators over lines", "x = ", "void\n", "b", ""},
	{"keyof over lines", "type A = ", "keyof\n", "B", ""},
	{"conditional types over lines", "type A = ", "A\nextends B\n? C :\n", "D", ""},
	{"unions in conditional types", "type A = ", "A extends B ? C : D | ", "D", ""},
	{"classes over lines", "x = ", "class extends\n", "A", "{}"},
	{"classes without commas", "x = ", "class extends A\n", "A", "{}"},
	{"classes behind an import", "x = class extends A, ", "class extends A,\nimport.meta, ", "A", ""},
	{"keywords behind a number", "", "if (a)\n1else ", "b", ""},
	{"keywords behind a blank of Unicode", "", "if(a)b\u00a0\nelse ", "b", ""},
	{"keywords with escapes", "", "i\\u0066 (a)\n", "b", ""},
	{"arrows without a brace", "", "x = a => return 1\n", "", ""},
	{"arrows without a brace, with semicolons", "", "x=a=>return 1;", "", ""},
	{"switches without a brace", "", "switch(a)case 1:b;", "", ""},
	{"braces with the wrong end", "", "{);", "", ""},
	{"brackets behind a carriage return", "", "//\r{\n", "", ""},
	{"brackets in a string that ended", "x = \"\r", "[", "", "\""},
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
			levels := 1000 // under the race detector the others take minutes
			if os.Getenv("AUTHZ_FULL") != "" {
				levels = 10_000
			}
			served := build(levels) + "\nexport const GET = async () => {};"
			judgeEdited(t, Config{Catalog: s.config.Catalog, Exports: &Exports{RefusalsGate: true}}, "app/x/route.ts"+file[len("a.ts"):], served)
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

func TestASourceIsRefusedWhereverItIsCut(t *testing.T) {
	deep := "\nexport const x = " + strings.Repeat("[", maxDepth+1)
	for _, text := range []string{"import { can } from 'x'\ncan(" + bad + ")" + deep, "import { can } from 'x'" + deep + "\ncan(" + bad + ")"} {
		if _, err := newTestScanner(t, Config{}).scanString("a.ts", text); !errors.Is(err, errTooDeep) {
			t.Errorf("%.60q: %v, want %v", text, err, errTooDeep)
		}
	}
}

func TestLargeSourcesThatAreNotDeepAreRead(t *testing.T) {
	for name, line := range map[string]string{
		"statements without semicolons": "export const icon%d = createIcon('a', [1, 2, { b: true }])\n",
		"statements":                    "const a%d = x < y ? /[({]/ : b;\n",
		"assignments":                   "m.key%d = \"v\"\n",
		"strings":                       "let x%d = \"a b\"\n",
		"calls":                         "log.info(%d, (x))\n",
		"methods":                       "a.b.c(() => {\n  x.y = %d\n  if (x) {\n    foo(import('x'))\n  } else if (y) z()\n  return x\n})\n",
		"after a class":                 "type A%d<T extends X> = () => void\nexport class B extends A {\n}\n",
		"members":                       "  | \"a%d\"\n",
		"calls with heads":              "if (a%d) b()\nfor (const x of y) x.z()\n",
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
		case "members":
			text = "type A =\n" + text + text + "let x: 'a' | { b: 1 } & [2]\n"
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
