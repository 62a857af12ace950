package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// relative resolves imports among files by their path, as far as the tests need.
func relative(files map[string]string) func(from, specifier string) string {
	return func(from, specifier string) string {
		for _, end := range []string{"", ".ts", ".tsx", ".js", "/index.ts"} {
			if file := path.Join(path.Dir(from), specifier) + end; files[file] != "" {
				return file
			}
		}
		return ""
	}
}

// judgeAll verifies a project and lists what it finds as "rule file:line", and the
// counts.
func judgeAll(t testing.TB, files map[string]string, e Exports) (found []string, judged Judged) {
	t.Helper()
	e.Resolve = relative(files)
	r, err := Verify(context.Background(), Config{Catalog: exampleCatalog(t), Files: slices.Sorted(maps.Keys(files)), Read: fromMap(files), Exports: &e})
	if err != nil {
		t.Fatal(err)
	}
	found = []string{}
	for _, f := range r.Issues {
		if f.File != CatalogFile {
			found = append(found, fmt.Sprintf("%s %s:%d", f.Rule, f.File, f.Line))
		}
	}
	if j := *r.Judged; j.ServerFunctions != j.Gated+j.Exempt+j.Findings+j.UnknownWrappers {
		t.Errorf("%+v does not add up", j)
	}
	return found, *r.Judged
}

const gateCall = `await can(u, "docs.files.read") || no();`

func TestExportsOfEveryFormAreJudged(t *testing.T) {
	const route = "app/x/route.ts"
	for _, c := range []struct {
		name   string
		text   string
		judged Judged
		found  []string
	}{
		{"sync", "export function GET() {}", Judged{1, 0, 0, 1, 0}, []string{"ungated-action " + route + ":1"}},
		{"an arrow that is exported by default", "export default async () => {}", Judged{}, nil},
		{"a local name", "async function h() {}\nexport { h as GET, h as helper };", Judged{1, 0, 0, 1, 0}, []string{"ungated-action " + route + ":2"}},
		{"a gated local name", "async function h() { " + gateCall + " }\nexport { h as GET };", Judged{1, 1, 0, 0, 0}, nil},
		{"a constant that is another one", "const h = async () => {};\nexport const GET = h;\nexport const POST = GET;", Judged{2, 0, 0, 2, 0},
			[]string{"ungated-action " + route + ":2", "ungated-action " + route + ":3"}},
		{"destructured", "export const { GET, POST } = make(o);", Judged{2, 0, 0, 0, 2}, []string{"unknown-wrapper " + route + ":1"}},
		{"unknown wrapper", "export const GET = wrap(async () => {});\nexport const POST = wrap(async () => {});", Judged{2, 0, 0, 0, 2}, []string{"unknown-wrapper " + route + ":1"}},
		{"a gate inside an unknown wrapper", "export const GET = wrap(async () => { " + gateCall + " });", Judged{1, 1, 0, 0, 0}, nil},
		{"declared gate", "export const GET = guard(async () => {});\nexport const PUT = lib.guarded({ handler: () => {} });", Judged{2, 2, 0, 0, 0}, nil},
		{"declared pass-through", "export const GET = pass(async () => {});\nexport const PUT = pass({ handler: guard(f) });", Judged{2, 1, 0, 1, 0},
			[]string{"ungated-action " + route + ":1"}},
		{"declared public", "export const GET = open(async () => {});", Judged{1, 0, 1, 0, 0}, nil},
		{"curried", "export const GET = guard({ a: 1 })(async () => {});", Judged{1, 1, 0, 0, 0}, nil},
		{"a wrapper with a gate of its own", "function own(f) { return async (r) => { " + gateCall + " return f(r) } }\nexport const GET = own(async () => {});", Judged{1, 1, 0, 0, 0}, nil},
		{"exempt", "export const OPTIONS = () => {};\nexport const dynamic = 'x';\nexport const GET = async () => { " + gateCall + " };\nexport async function generateMetadata() {}", Judged{2, 1, 1, 0, 0}, nil},
		{"pragma", "// authz-verify-ignore-next-line ungated-action open\nexport async function GET() {}\n// authz-verify-ignore-next-line unknown-wrapper why\nexport const PUT = wrap(f);", Judged{2, 0, 2, 0, 0}, nil},
		{"file pragma", "// authz-verify-ignore-file why\nexport async function GET() {}", Judged{1, 0, 1, 0, 0}, nil},
		{"one of two", "export const GET = c ? async () => { " + gateCall + " } : async () => {};", Judged{1, 0, 0, 1, 0}, []string{"ungated-action " + route + ":1"}},
		{"dropped decision", "export async function GET() {\n  await can(u, \"docs.files.read\");\n}", Judged{1, 0, 0, 1, 0},
			[]string{"unchecked-gate " + route + ":2", "ungated-action " + route + ":1"}},
		{"require throws", "import { require } from 'x';\nexport async function GET() { await require(u, \"docs.files.read\"); }", Judged{1, 1, 0, 0, 0}, nil},
		{"require of CommonJS gates nothing", "export async function GET() { const x = require(\"docs.files.read\"); }", Judged{1, 0, 0, 1, 0}, []string{"ungated-action " + route + ":1"}},
		{"a cycle", "export const GET = a; const a = b; const b = a;", Judged{1, 0, 0, 0, 1}, []string{"unknown-wrapper " + route + ":1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, judged := judgeAll(t, map[string]string{route: c.text}, Exports{
				GateWrappers: []string{"guard", "lib.guarded"}, PassThroughWrappers: []string{"pass"}, PublicWrappers: []string{"open"}})
			if diff := cmp.Diff(c.found, found, cmpopts.EquateEmpty()) + cmp.Diff(c.judged, judged); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestImportsAndConstantsAreFollowed(t *testing.T) {
	found, judged := judgeAll(t, map[string]string{
		"app/a/route.ts":   "export { GET } from '../../lib/h';\nexport * from '../../lib/star';\n",
		"lib/h.ts":         "import { KEYS } from './keys';\nexport const GET = async () => {\n  if (!(await can(u, KEYS.read))) throw 1;\n};",
		"lib/star.ts":      "export async function POST() {}\nexport function helper() {}",
		"lib/keys.ts":      "export const KEYS = { read: 'docs.files.read', bad: 'docs.files.nope' } as const;\nexport const PAY = 'docs.pay.approve_payment';\nexport enum E { X = 'docs.files.nope' }",
		"app/b/route.ts":   "import { KEYS, PAY, E } from '../../lib/keys';\nexport async function GET() {\n  await require(u, KEYS.bad);\n  await require(u, PAY);\n  await require(u, E.X, KEYS.read);\n}\nimport { require } from 'z';",
		"app/c/actions.js": "'use server'\nexports.a = async () => {};\nexports.b = wrap;",
	}, Exports{})
	want := []string{"ungated-action app/a/route.ts:2", "unknown-pattern app/b/route.ts:3", "missing-condition app/b/route.ts:4",
		"unknown-pattern app/b/route.ts:5", "ungated-action app/c/actions.js:2", "unknown-wrapper app/c/actions.js:3"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Judged{5, 2, 0, 2, 1}); judged != want {
		t.Errorf("%+v, want %+v", judged, want)
	}
}

func TestInlineActionsAndProceduresAreJudged(t *testing.T) {
	found, judged := judgeAll(t, map[string]string{
		"page.tsx": "export default function P() {\n  async function a() {\n    'use server';\n  }\n  return <form action={async () => { 'use server'; " + gateCall + " }} />;\n}",
		"trpc.ts":  "export const authed = t.procedure.use(async () => { " + gateCall + " });\nexport const open = t.procedure;",
		"r.ts":     "import { authed, open } from './trpc';\nexport const r = router({\n  a: authed.input(x).query(() => 1),\n  b: open.mutation(async () => 1),\n  c: db.query(() => 1),\n  d: authed.query(h),\n});",
	}, Exports{PassThroughWrappers: []string{"t.procedure"}})
	want := []string{"ungated-action page.tsx:2", "ungated-action r.ts:4"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Judged{5, 3, 0, 2, 0}); judged != want {
		t.Errorf("%+v, want %+v", judged, want)
	}
}

func TestRoutesAreGatedByWhatStandsBeforeThem(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ungated    []int // lines
	}{
		{"below a gate only", "const app = express();\napp.get('/a', h);\napp.use(auth);\napp.get('/b', h);", []int{2}},
		{"its path only", "const app = express();\napp.use('/admin', auth);\napp.get('/admin/x', h);\napp.get('/other', h);", []int{4}},
		{"Hono's paths are exact", "const app = new Hono();\napp.use('/admin', auth);\napp.get('/admin/x', h);\napp.get('/admin', h);", []int{3}},
		{"Hono's star", "const app = new Hono();\napp.use('/admin/*', auth);\napp.get('/admin/x', h);\napp.get('/x', h);", []int{4}},
		{"in the route", "const app = Router();\napp.post('/a', [parse, auth], h);\napp.post('/b', parse, h);", []int{3}},
		{"a chain", "export default new Hono()\n  .get('/a', h)\n  .use(auth)\n  .get('/b', h);", []int{2}},
		{"mounted below", "const app = express();\nconst sub = Router();\nsub.get('/a', h);\napp.use('/s', auth, sub);", nil},
		{"mounted twice", "const app = express();\nconst sub = Router();\nsub.get('/a', h);\napp.use('/s', auth, sub);\napp.use('/open', sub);", []int{3}},
		{"mounted above", "const app = express();\nconst sub = Router();\nsub.get('/a', h);\napp.use(sub);\napp.use(auth);", []int{3}},
		{"a name that is no router", "const map = new Map();\nmap.get('/a', h);\nimport axios from 'axios';\naxios.get('/a', {});", nil},
		{"one of two functions", "function a() {\n  const app = express();\n  app.use(auth);\n}\nfunction b() {\n  const app = express();\n  app.get('/x', h);\n}", []int{7}},
		{"OPTIONS", "const app = express();\napp.options('/x', h);", nil},
		{"a path that is no literal", "const app = express();\napp.use('/admin', auth);\napp.get(path, h);", []int{3}},
		{"a gate inline", "const app = express();\napp.use(async (q, s, n) => { " + gateCall + " n() });\napp.get('/x', h);", nil},
		{"visibility is no gate", "const app = express();\napp.get('/x', async () => { if (await holds('docs.files.read')) y(); });", []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, _ := judgeAll(t, map[string]string{"src/a.ts": c.text}, Exports{GateMiddleware: []string{"auth"}})
			want := []string{}
			for _, line := range c.ungated {
				want = append(want, fmt.Sprintf("ungated-action src/a.ts:%d", line))
			}
			found = slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(f, "visibility-as-gate") })
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsKeptOfAFileIsAllOfIt concludes over reports that went through JSON, as a
// cache keeps them.
func TestWhatIsKeptOfAFileIsAllOfIt(t *testing.T) {
	files := map[string]string{
		"app/a/route.ts": "import { KEYS } from './k';\nexport const GET = wrap(async () => { await require(u, KEYS.no) });\nexport { POST } from './k';",
		"app/a/k.ts":     "export const KEYS = { no: 'docs.files.nope' };\nexport async function POST() {}",
		"app.ts":         "import { sub } from './sub';\nconst app = express();\napp.use(auth, sub);",
		"sub.ts":         "export const sub = Router();\nsub.get('/x', h); // authz-verify-ignore-line ungated-action never",
		"c.ts":           "@Controller('x')\nclass C {\n  @Get() a() {}\n  @UseGuards(auth) @Get() b() {}\n}",
	}
	run := func(around func(string, func() (FileReport, error)) (FileReport, error)) *Report {
		r, err := Verify(t.Context(), Config{Catalog: exampleCatalog(t), Files: slices.Sorted(maps.Keys(files)), Read: fromMap(files), Around: around,
			Exports: &Exports{Resolve: relative(files), GateMiddleware: []string{"auth"}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain := run(nil)
	kept := run(func(_ string, scan func() (FileReport, error)) (FileReport, error) {
		r, err := scan()
		if err != nil {
			return r, err
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		back := FileReport{}
		err = json.Unmarshal(raw, &back)
		return back, err
	})
	if diff := cmp.Diff(plain, kept); diff != "" {
		t.Errorf("(-plain +kept):\n%s", diff)
	}
}

func TestWithoutExportsNothingIsJudged(t *testing.T) {
	r, _ := scan(t, Config{}, "app/x/route.ts", "export const GET = wrap(async () => { can(1) });")
	raw, err := json.Marshal(r)
	if err != nil || r.Judged != nil || strings.Contains(string(raw), "judged") {
		t.Errorf("%s %v", raw, err)
	}
}
