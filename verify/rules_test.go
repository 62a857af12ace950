package verify

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scan reads one file by the example catalog and lists its issues as
// "rule:line:column".
func scan(t testing.TB, config Config, file, text string) (*Report, []string) {
	t.Helper()
	config.Files, config.Read = []string{file}, fromMap(map[string]string{file: text})
	if config.Catalog == nil {
		config.Catalog = exampleCatalog(t)
	}
	report, err := Verify(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, f := range report.Issues {
		if f.File != CatalogFile {
			found = append(found, fmt.Sprintf("%s:%d:%d", f.Rule, f.Line, f.Column))
		}
	}
	return report, found
}

type ruleCase struct {
	name string
	file string // a.ts unless given
	text string
	want []string
}

func (c ruleCase) run(t *testing.T, config Config) {
	t.Run(c.name, func(t *testing.T) {
		file := c.file
		if file == "" {
			file = "src/a.ts"
		}
		_, got := scan(t, config, file, c.text)
		if c.want == nil {
			c.want = []string{}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	})
}

const bad = `"docs.files.nope"`

func TestCallsAreRecognisedByTheFinalNameOfTheirCallee(t *testing.T) {
	for _, callee := range []string{"can", "client.can", "a.b.require", "client?.can", "can.fresh", "can<T>", "can?.", "(client).can",
		"client!.can", "client()[0].can", "super.can", "c\\u0061n", "can /* why */", "can\u00a0"} {
		ruleCase{name: callee, text: callee + `(` + bad + `);`,
			want: []string{fmt.Sprintf("unknown-pattern:1:%d", len([]rune(callee))+2)}}.run(t, Config{})
	}
	for _, text := range []string{`client["can"](%s)`, `(client.can)(%s)`, `new can(%s)`, "can`docs.files.nope`", `const c = client.can; c(%s)`,
		`class A { #can(x: any) {} f() { this.#can(%s) } }`, `scan(%s)`, `can.then(%s)`, `can!(%s)`, `(can as any)(%s)`, `declare function can(x: %s): void`,
		`type A = typeof can<%s>`, `// can(%s)`, `/can(%[1]s)/.test(x)`, `const s = 'can(%s)'`, "const s = `can(%s)`"} {
		ruleCase{name: text, text: strings.ReplaceAll(strings.ReplaceAll(text, "%[1]s", bad), "%s", bad)}.run(t, Config{})
	}
	ruleCase{name: "JSX", file: "src/a.tsx",
		text: "const a = <X can=" + bad + " on={() => can(" + bad + ")}>can(" + bad + ") {/* can(" + bad + ") */} {can(" + bad + ")}</X>;",
		want: []string{"unknown-pattern:1:50", "unknown-pattern:1:129"}}.run(t, Config{})
	ruleCase{name: "code in nested templates", text: "const s = `a${`b${can(" + bad + ")}`}`;", want: []string{"unknown-pattern:1:23"}}.run(t, Config{})
	ruleCase{name: "type assertion", text: "const s = <any>can(" + bad + ");", want: []string{"unknown-pattern:1:20"}}.run(t, Config{})
	ruleCase{name: "a name with a dot never matches", text: "a.b(" + bad + ")"}.run(t, Config{GateNames: []string{"a.b"}})
	ruleCase{name: "lists replace the defaults", text: "can(" + bad + "); mine(" + bad + ")", want: []string{"unknown-pattern:1:30"}}.run(t, Config{GateNames: []string{"mine"}})
	ruleCase{name: "empty lists are none", text: "can(" + bad + "); holds(" + bad + ")"}.run(t, Config{GateNames: []string{}, VisibilityNames: []string{}})
}

func TestLiteralsAreReadFromEveryArgument(t *testing.T) {
	for _, c := range []ruleCase{
		{name: "positions", text: `can(u, 'docs.files.nope', x, "docs.files.nope2", ` + "`docs.files.nope3`)",
			want: []string{"unknown-pattern:1:8", "unknown-pattern:1:30", "unknown-pattern:1:50"}},
		{name: "arrays, direct elements only", text: `can([x, "docs.a.b", ["docs.a.c"], ...["docs.a.d"], ("docs.a.e"), "docs.a.f" as any, ` + "`docs.a.g`])",
			want: []string{"unknown-pattern:1:9", "unknown-pattern:1:85"}},
		{name: "nothing else", text: `can("docs." + "x", a ? "docs.a.b" : "docs.a.c", ("docs.a.d"), "docs.a.e" as T, ["docs.a.f"] as const, { k: "docs.a.g" }, f("docs.a.h"), ...["docs.a.i"], ` +
			"`docs.${x}`)"},
		{name: "an outer call before the calls in it", text: `can(holds("docs.a.inner"), "docs.a.outer")`,
			want: []string{"unknown-pattern:1:28", "unknown-pattern:1:11"}},
		{name: "twice on a line is two", text: `can("docs.a.b", "docs.a.b")`, want: []string{"unknown-pattern:1:5", "unknown-pattern:1:17"}},
		{name: "no pattern", text: `can("docs.files.read ", "docs.__proto__", "docs.файл.read", "a:b", "a-b.c", "x/y", "", "docs.", "docs.*.read", "save")`},
		{name: "escapes are read", text: `can("docs.files.n\u006fpe")`, want: []string{"unknown-pattern:1:5"}},
		{name: "group", text: `can("docs"); canAny("docs.files")`, want: []string{"unknown-pattern:1:5", "unknown-pattern:1:21"}},
		{name: "a scope type is a permission", text: `can("docs.files.read", "docs.folder")`, want: []string{"unknown-pattern:1:24"}},
		{name: "foreign", text: `require("lodash.merge")`, want: []string{"implicit-import:1:9"}},
		{name: "an import in reach and beyond", text: `can("zoom.host"); can("zoom.meetings.read"); can("zoom.rooms.read")`, want: []string{"unknown-import:1:50"}},
		{name: "a strict region's key at a gate and elsewhere", text: `can("meet.rooms.read"); canAny("meet.rooms.read")`, want: []string{"unknown-import:1:5"}},
		{name: "wildcards at gates", text: `can("docs.files.*", "zoom.meetings.*", "*"); canAny("docs.files.*", "zoom.meetings.*", "*")`,
			want: []string{"unknown-pattern:1:5", "unknown-import:1:21"}},
		{name: "conditions", text: `can("docs.pay.approve_payment");
			can("docs.pay.approve_payment", { condition: () => ok }); can("docs.pay.approve_payment", { "condition": f }); can("docs.pay.approve_payment", { ...o });
			can("docs.pay.approve_payment", { condition() {} }); can("docs.pay.approve_payment", { get condition() { return f } }); can("docs.pay.approve_payment", { condition });
			can("docs.pay.approve_payment", o); can("docs.pay.approve_payment", f()); can("docs.pay.approve_payment", null); can("docs.pay.approve_payment", -1); can("docs.pay.approve_payment", ...o);
			can("docs.pay.approve_payment", ` + "`a${b}`" + `); can("docs.pay.approve_payment", ["x"] as const); can("docs.pay.approve_payment", ("x"));
			holds("docs.pay.approve_payment");
x.can("docs.pay.approve_payment", { ["condition"]: f });
x.can("docs.pay.approve_payment", {});
x.can({ condition }, "docs.pay.approve_payment");
x.can("docs.pay.approve_payment", 1);
x.can("docs.pay.approve_payment", 1n);
x.can("docs.pay.approve_payment", []);`,
			want: []string{"missing-condition:1:1", "missing-condition:7:1", "missing-condition:8:1", "missing-condition:9:1", "missing-condition:10:1", "missing-condition:11:1", "missing-condition:12:1"}},
	} {
		c.run(t, Config{})
	}
	ruleCase{name: "a name in both lists", file: "src/pages/api/x.ts", text: `both("*", "docs.files.*")`,
		want: []string{"unknown-pattern:1:11", "visibility-as-gate:1:1"}}.run(t, Config{GateNames: []string{"both"}, VisibilityNames: []string{"both"}})
	r, _ := scan(t, Config{}, "a.ts", `can("docs.files.*"); can("meet.rooms.read", "*"); holds("docs.pay.read", "zoom.meetings.x")`)
	if diff := cmp.Diff([]string{"docs.files.read", "docs.files.update_file", "docs.pay.read", "zoom.meetings.x"}, r.ReferencedKeys); diff != "" {
		t.Errorf("referenced keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"docs.files.*", "meet.rooms.read"}, r.ReferencedPatterns); diff != "" {
		t.Errorf("a pattern that is wrong at a gate is a reference all the same (-want +got):\n%s", diff)
	}
	r, _ = scan(t, Config{}, "a.ts", `can("docs.pay.approve_payment", "docs.pay.refund_payment")`)
	if want := "\"docs.pay.approve_payment\" or \"docs.pay.refund_payment\" are declared `requiresCondition: true` — "; !strings.HasPrefix(r.Issues[0].Message, want) {
		t.Errorf("message %q, want it to begin %q", r.Issues[0].Message, want)
	}
}

func TestServerFunctionsGate(t *testing.T) {
	config := Config{}
	for _, c := range []ruleCase{
		{name: "functions", text: `export async function a() {}
export async function* b() {}
export default async function () {}
export default async () => {};
export function sync() {}
async function local() {}
export async function over(x: string): void;
declare namespace n { export async function f() {} }
namespace m { export async function f() {} }
export class C { async f() {} }
export { local };
export * from "x";`,
			want: []string{"ungated-action:2:1", "ungated-action:3:1", "ungated-action:4:1"}},
		{name: "variables", text: `export const a = async () => {}, b = 1, c = async function () {};
export const d = (async () => {}) satisfies Handler;
export const e = <any>(async <T,>(x: T) => {})!;
export const f = withAuth(async () => {});
export const { g } = async () => {};
export let h = async () => {} as any;
const i = async () => {};
export const j = () => {};`,
			want: []string{"ungated-action:2:18", "ungated-action:2:45", "ungated-action:3:19", "ungated-action:4:24", "ungated-action:6:22", "ungated-action:7:16"}},
		{name: "gated at any depth", text: `export async function a() { class X { constructor() { can(k) } get y() { return 1 } } }
export async function b(x = can(k)) {}
export async function c() { [1].map(function () { return () => { can() } }) }
export const d = async () => { await holds(k) };
export async function e() { helper() }
function helper() { can(k) }`,
			want: []string{"visibility-as-gate:5:38", "ungated-action:6:1"}},
		{name: "the name's line is not the export's", text: "export\nasync function f() {}\nexport const g =\n  async () => {};",
			want: []string{"ungated-action:2:1", "ungated-action:5:3"}},
	} {
		c.text = "'use server'\n" + c.text
		c.run(t, config)
	}
	for path, server := range map[string]bool{"src/app/x/route.ts": true, "app/route.jsx": true, "src/pages/api/x.tsx": true, "app\\route.ts": false, "src/route.ts": false} {
		c := ruleCase{name: path, file: path, text: "export async function f() {}"}
		if server {
			c.want = []string{"ungated-action:1:1"}
		}
		c.run(t, config)
	}
	ruleCase{name: "a directive in a body", text: "export async function f() { 'use server' }"}.run(t, config)
	ruleCase{name: "no directive", text: "('use server');\nexport async function f() {}"}.run(t, config)
	ruleCase{name: "directives and comments", text: "#!/usr/bin/env x\n/* a */ 'use strict' // b\n\"use server\"\nexport async function f() {}",
		want: []string{"ungated-action:4:1"}}.run(t, config)
	ruleCase{name: "a byte order mark", text: bom + "\"use server\"\nexport async function f() {}", want: []string{"ungated-action:2:1"}}.run(t, config)
}

func TestSecretsStayOutOfClientFiles(t *testing.T) {
	config := Config{ForbidClientIdentifiers: []string{"KEY", "вход"}}
	ruleCase{name: "identifiers", file: "a.tsx", text: `"use client"
import { KEY, x as KEY } from "KEY";
let a: KEY = o.KEY, { KEY: b } = { KEY }, c = o["KEY"], d = ` + "`KEY${KEY}`" + `; // KEY
const e = <KEY KEY="KEY">KEY {KEY}</KEY>;
/KEY/; K\u0045Y; вход; #KEY; KEYS;`,
		want: []string{"client-reachable-secret:2:10", "client-reachable-secret:2:20", "client-reachable-secret:3:8", "client-reachable-secret:3:16",
			"client-reachable-secret:3:23", "client-reachable-secret:3:36", "client-reachable-secret:3:67", "client-reachable-secret:4:12",
			"client-reachable-secret:4:16", "client-reachable-secret:4:31", "client-reachable-secret:4:37", "client-reachable-secret:5:8", "client-reachable-secret:5:18"},
	}.run(t, config)
	ruleCase{name: "elsewhere", text: "KEY"}.run(t, config)
}
