package verify

import (
	"fmt"
	"strings"
	"testing"
)

// The literal of a planted call stands where "§" is, the call where "CALL" is.
var (
	plantedCalls = []string{
		`can(§)`,
		`client.can(u, §)`,
		`client?.can(u, §)`,
		`client.can?.(u, §)`,
		`client.can.fresh(u, §, scope)`,
		`(a.b()?.c[0]).require(§)`,
		`require<Session<"x">, { a: 1 }>(u, §)`,
		"this\n  .session\n  // why\n  .requirePermission(\n    u,\n    §,\n  )",
		"gateAction /* a */ (/* b */ § /* c */, // d\n  { condition: () => true })",
		"apiRequirePermission\n(\n\n§)",
		"client /* can(\"docs.x.y\") */ ./* a */can(u, [\n  key,\n  ...more,\n  §,\n])",
		"holds((x: number): x is 1 => true, §)",
		"client!.canAny(§)!",
		"canAny<typeof x>(await f(), §)",
		"(await client).requireAny(`a${`b`}`, §)",
		"(0, client).can(§)",
	}
	plantedContexts = []struct{ file, text string }{
		{"a.ts", `CALL;`},
		{"a.ts", `const x = await CALL;`},
		{"a.ts", "export default class A<T> extends B<T> {\n  @CALL\n  m() {}\n}"},
		{"a.ts", "class A {\n  static x = CALL;\n  #y = 1;\n  constructor(private readonly a = CALL) {}\n}"},
		{"a.ts", "function* f() {\n  yield CALL;\n  for await (const x of y) if (!CALL) throw z; else return void CALL;\n}"},
		{"a.ts", "const s = `text ${a + `${CALL}`} can(\"docs.x.y\")`;"},
		{"a.ts", "const s = <any>CALL;\nconst t = CALL as unknown satisfies X;"},
		{"a.ts", "enum E { A = CALL }\nnamespace N.M { export const x = CALL }"},
		{"a.ts", "const { a = CALL, [CALL]: b } = { [`k`]: CALL, ...CALL, get x() { return CALL } };"},
		{"a.ts", "label: switch (CALL) {\n  case CALL: break label;\n  default: new Foo(CALL)?.bar?.[CALL];\n}"},
		{"a.ts", "const re = /can(\"docs.x.y\")[/]/g, n = a / b / CALL;\nx = y ? CALL : z ?? CALL;"},
		{"a.ts", "try {\n  using r = CALL;\n} catch { CALL } finally { do CALL; while (CALL) }"},
		{"a.ts", "if (a < b && c > d) CALL\nelse if (e) CALL\nfoo<T>(CALL)\nimport('x').then(m => CALL)"},
		{"a.tsx", "export const A = () => <B on={() => CALL} {...CALL}>\n  can(\"docs.x.y\") don't {CALL} <C.D e=\"can('docs.x.y')\" f={<>{CALL}</>} />\n</B>;"},
		{"a.tsx", "const f = async <T,>(x: T) => { return cond && <li key={CALL}>{/* can(\"docs.x.y\") */}</li> };"},
		{"a.mts", "export const f = async function* (this: X, a = CALL) { await Promise.all([CALL, CALL]) };\n"},
		{"a.cts", "import x = require('y');\nexport = CALL;"},
	}
)

func TestPlantedCallSitesAreFoundAtTheirLine(t *testing.T) {
	built, planted := exampleCatalog(t), 0
	for _, context := range plantedContexts {
		for i, call := range plantedCalls {
			text := "// a header\n" + strings.ReplaceAll(context.text, "CALL", call) + "\n"
			want := []string{}
			for before, rest, ok := strings.Cut(text, "§"); ok; before, rest, ok = strings.Cut(text, "§") {
				line := strings.Count(before, "\n") + 1
				column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
				want = append(want, fmt.Sprintf("unknown-pattern:%d:%d", line, column))
				text = before + bad + rest
			}
			planted += len(want)
			_, got := scan(t, Config{Catalog: built}, context.file, text)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, call %d:\n%s\ngot  %v\nwant %v", context.file, i, text, got, want)
			}
		}
	}
	if shapes := len(plantedCalls) * len(plantedContexts); shapes < 200 {
		t.Errorf("%d shapes, want at least 200", shapes)
	}
	t.Logf("%d call sites in %d shapes", planted, len(plantedCalls)*len(plantedContexts))
}
