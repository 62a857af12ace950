package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	ts "github.com/microsoft/typescript-go/authzshim"
)

// generated writes sources like those of a web application, a third of which call
// a gate, and returns their paths and bytes.
func generated(t testing.TB, files, bytes int) ([]string, int) {
	t.Helper()
	dir, random, total := t.TempDir(), rand.New(rand.NewPCG(1, 2)), 0
	paths := make([]string, files)
	for i := range paths {
		var b strings.Builder
		fmt.Fprintf(&b, "import { db } from '../db';\nimport type { User } from './types';\n\n")
		for n := 0; b.Len() < bytes; n++ {
			switch kind := random.IntN(4); {
			case kind == 0:
				fmt.Fprintf(&b, "/** Loads item %d of the list, see https://example.com. */\nexport async function load%d(user: User, id: string): Promise<Item[]> {\n"+
					"  const rows = await db.query(`select * from items where id = ${id} and owner = ${user.id}`, { limit: %d });\n"+
					"  return rows.filter((row) => row.visible && row.tags.some((t) => t.name === 'x')).map((row) => ({ ...row, at: new Date(row.at) }));\n}\n\n", n, n, n)
			case kind == 1:
				fmt.Fprintf(&b, "export interface Props%d<T extends object = {}> {\n  readonly items: ReadonlyArray<T>;\n  onSelect?: (item: T, index: number) => void | Promise<void>;\n  label: string | null;\n}\n\n", n)
			case kind == 2 && i%3 == 0:
				fmt.Fprintf(&b, "export const guard%d = async (user: User) => {\n  if (!(await client.can(user, 'docs.files.read', `docs.folder:${user.folder}`))) throw new Error('no');\n};\n\n", n)
			default:
				fmt.Fprintf(&b, "export function Card%d({ title, open }: { title: string; open?: boolean }) {\n  const [state, setState] = useState(open ?? false);\n"+
					"  return <section className=\"card\" onClick={() => setState(!state)}>{state ? <h2>{title}</h2> : null}</section>;\n}\n\n", n)
			}
		}
		paths[i] = filepath.Join(dir, fmt.Sprintf("f%05d.tsx", i))
		if err := os.WriteFile(paths[i], []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		total += b.Len()
	}
	return paths, total
}

// sameWithoutSkipping fails when not parsing what cannot matter changed an answer.
func sameWithoutSkipping(t testing.TB, config Config) (skipped int) {
	t.Helper()
	fast, slow := newTestScanner(t, config), newTestScanner(t, config)
	slow.readAll = true
	read := config.Read
	if read == nil {
		read = ReadFile
	}
	for _, file := range config.Files {
		a, errA := fast.ScanFile(file)
		b, errB := slow.ScanFile(file)
		if errA == nil && errB == nil {
			if diff := cmp.Diff(b, a, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-parsed +skipped):\n%s", file, diff)
			}
		} else if errB == nil {
			t.Errorf("%s: %v", file, errA)
		}
		if text, err := read(file); err == nil && !fast.candidates.find(clean(text), fast.isServerPath(file)).parse {
			skipped++
		}
	}
	return skipped
}

// sameBeforeCuts fails where a source that was parsed up to a cut has another tree
// there than the whole one. It tries some so many cuts and tells how many were taken.
func sameBeforeCuts(t testing.TB, file string, text []byte, most int) (taken int) {
	t.Helper()
	whole, err := parseUntil(file, string(text), 0)
	if err != nil {
		return 0
	}
	var cuts []int
	for cut := nextDeclaration(text, 0); cut > 0; cut = nextDeclaration(text, cut) {
		cuts = append(cuts, cut)
	}
	for i := 0; i < len(cuts); i += 1 + len(cuts)/most {
		cut := cuts[i]
		part, err := parseUntil(file, string(text), cut)
		if err != nil {
			t.Errorf("%s, cut at %d: %v", file, cut, err)
			return taken
		}
		if len(part.text) != cut {
			continue
		}
		taken++
		if diff := cmp.Diff(outline(whole, cut), outline(part, cut)); diff != "" {
			t.Errorf("%s, cut at %d (-whole +part):\n%s\n%q", file, cut, diff, text[:cut])
		}
	}
	return taken
}

// outline lists the nodes that begin before an offset, as far as the verifier can tell them apart.
func outline(src *source, end int) []string {
	var lines []string
	var add func(n *ts.Node) bool
	add = func(n *ts.Node) bool {
		if n.Kind != ts.KindEndOfFile && n.Pos() < end && (n.Kind == ts.KindJsxText || src.start(n) < end) {
			name := ""
			if n.Kind == ts.KindIdentifier || n.Kind == ts.KindStringLiteral {
				name = n.Text()
			}
			lines = append(lines, fmt.Sprint(n.Kind, " ", n.Pos(), " ", n.End(), " ", name))
			n.ForEachChild(add)
		}
		return false
	}
	src.tree.AsNode().ForEachChild(add)
	return lines
}

func TestWhatFollowsACutChangesNothingBeforeIt(t *testing.T) {
	for text, want := range map[string]int{
		"import x from 'x';\nf(x)\nexport const y = `\nexport `;\nfunction g() {}\n":           2, // not within the template
		"import x from 'x'\n/*\nexport \n*/ f(x)\nclass A {\nconst \n}\nexport {}":             2, // nor the comment, nor the class
		"f(await (x))\nexport const y = 1":                                                     0, // a script, which what follows makes a module
		"import x from 'x';\nf(\nfunction () {})\nvar y = <T>\nfunction () {}\n@d\nclass A {}": 0,
		"import x from 'x'\nf(x)\nstatic\nfunction g() {}":                                     0, // of which "static" is a part
		"import x from 'x'\nf(x)\nstatic // why\n\nconst y = 1":                                0,
		"import x from 'x'\nif (x)\nglobal\nexport {}":                                         0,
		"import x from 'x';\nasync\nfunction f() {}\nif (x)\nfunction g() {}":                  1,
	} {
		if got := sameBeforeCuts(t, "a.ts", []byte(text), 100); got != want {
			t.Errorf("%q was cut %d times, want %d", text, got, want)
		}
	}
}

func TestWhatIsNotParsedSaysNothing(t *testing.T) {
	files, _ := generated(t, 60, 4000)
	if skipped := sameWithoutSkipping(t, Config{Files: files}); skipped < 30 || skipped == 60 {
		t.Errorf("%d of 60 files were not parsed, want two thirds", skipped)
	}
	sources := map[string]string{}
	add := func(file, text string) {
		sources[fmt.Sprintf("%d/%s", len(sources), file)] = text
	}
	for _, context := range plantedContexts {
		for _, call := range plantedCalls {
			add(context.file, strings.ReplaceAll(strings.ReplaceAll(context.text, "CALL", call), "§", bad))
		}
	}
	for _, text := range []string{"\"use server\"\nexport async function f() {}", "'use client'\nKEY", "'use client'\nK\\u0045Y", "// authz-verify-ignore-file x",
		"// authz-verify-ignore-line x", "c\\u0061n(" + bad + ")", "scan(x)", "can\n\t(" + bad + ")", "can\u2028(" + bad + ")", "holds(", "1can(" + bad + ")", "0b1_can(" + bad + ")",
		"can\n=======\nfoo\n>>>>>>> b\n(" + bad + ")", "can\n||||||| a\n=======\nfoo\n>>>>>>> b\n(" + bad + ")", "can\n>>>>>>> b\n(" + bad + "); can(1)",
		"<<<<<<< HEAD\ncan\n=======\nrequire\n>>>>>>> b\n(" + bad + "); can(1)", "xcan(1); can<X>(" + bad + ")"} {
		add("a.ts", text)
		add("pages/api/a.ts", text+"\nexport const g = async () => {}")
	}
	config := Config{Read: fromMap(sources), ForbidClientIdentifiers: []string{"KEY"}, Files: slices.Sorted(maps.Keys(sources))}
	if skipped := sameWithoutSkipping(t, config); skipped == 0 {
		t.Error("no source was left unparsed")
	}
}

// packages of the npm registry that publish TypeScript sources.
var packages = []string{"rxjs@7.8.2", "zod@4.6.7", "@tanstack/react-query@5.108.0", "effect@4.1.0", "viem@2.57.20", "ethers@6.17.0",
	"@trpc/server@11.25.2", "@reduxjs/toolkit@2.14.0"}

// TestRealPackagesAreReadWithoutACrash needs the npm registry. AUTHZ_TS_CORPUS
// names a folder to read instead.
func TestRealPackagesAreReadWithoutACrash(t *testing.T) {
	dir := os.Getenv("AUTHZ_TS_CORPUS")
	if dir == "" {
		if testing.Short() {
			t.Skip("SKIPPED: real packages are not read with -short")
		}
		dir = t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		install := exec.CommandContext(ctx, "npm", append([]string{"install", "--prefix", dir, "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--legacy-peer-deps"}, packages...)...)
		switch out, err := install.CombinedOutput(); {
		case err == nil:
		case bytes.Contains(out, []byte("E404")), bytes.Contains(out, []byte("ETARGET")):
			t.Fatalf("no such package or version: %v\n%s", err, out)
		default:
			t.Skipf("SKIPPED: npm cannot install the packages here: %v\n%s", err, out)
		}
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := strings.ToLower(path)
		for _, ending := range []string{".ts", ".tsx", ".mts", ".cts"} {
			if err == nil && entry.Type().IsRegular() && strings.HasSuffix(name, ending) && !strings.HasSuffix(strings.TrimSuffix(name, ending), ".d") {
				files = append(files, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Catalog: exampleCatalog(t), Files: files}
	skipped := sameWithoutSkipping(t, config)
	cuts := 0
	for i, file := range files {
		if i%6 > 0 && os.Getenv("AUTHZ_FULL") == "" {
			continue // each cut parses a part anew
		}
		if text, err := ReadFile(file); err == nil && len(text) < 100<<10 {
			cuts += sameBeforeCuts(t, file, clean(text), 4)
		}
	}
	r, err := Verify(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d not parsed, %d cuts that changed nothing, %d issues", len(files), skipped, cuts, len(r.Issues))
	if len(files) < 2000 {
		t.Errorf("%d files, want at least 2,000", len(files))
	}
}

// BenchmarkVerify reads 2,000 files of 9 KB, a third of which call a gate.
func BenchmarkVerify(b *testing.B) {
	files, total := generated(b, 2000, 9000)
	for _, readAll := range []bool{false, true} {
		b.Run(map[bool]string{false: "skipping", true: "parsing all"}[readAll], func(b *testing.B) {
			s := newTestScanner(b, Config{Files: files})
			s.readAll = readAll
			b.SetBytes(int64(total))
			for b.Loop() {
				if _, err := s.scanAll(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzVerify edits sources at random: no edit may crash or hang the reader, and
// none may make a difference to what is not parsed.
func FuzzVerify(f *testing.F) {
	for _, context := range plantedContexts {
		for i, call := range plantedCalls {
			f.Add(strings.ReplaceAll(strings.ReplaceAll(context.text, "CALL", call), "§", bad), context.file, uint64(i))
		}
	}
	config := Config{Catalog: exampleCatalog(f), ForbidClientIdentifiers: []string{"KEY"}}
	fast, slow := newTestScanner(f, config), newTestScanner(f, config)
	slow.readAll = true
	for _, text := range servingSources {
		f.Add(text, "app/x/route.ts", uint64(7))
		f.Add(text, "a.ts", uint64(8))
	}
	whole := config
	whole.Exports = &Exports{GateWrappers: []string{"guard"}, PassThroughWrappers: []string{"pass"}, GateMiddleware: []string{"auth"}, RefusalsGate: true,
		Resolve: func(_, specifier string) string { return strings.TrimPrefix(specifier, "./") }}
	f.Fuzz(func(t *testing.T, text, file string, seed uint64) {
		text = edited(text, rand.New(rand.NewPCG(seed, 1)))
		if strings.Contains(file, "x") {
			file = "a.tsx"
		}
		start := time.Now()
		a, errA := fast.scanString(file, text)
		b, errB := slow.scanString(file, text)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%v for %d bytes", took, len(text))
		}
		for _, err := range []error{errA, errB} {
			if err != nil && !errors.Is(err, errTooDeep) {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(b, a, cmpopts.EquateEmpty()); diff != "" && errB == nil {
			t.Errorf("(-parsed +skipped):\n%s", diff)
		}
		lines := strings.Count(text, "\n") + 1
		for _, finding := range b.Findings {
			if finding.Line < 1 || finding.Line > lines {
				t.Errorf("%+v in a source of %d lines", finding, lines)
			}
		}
		FindIgnorePragma(text)
		judgeEdited(t, whole, file, text)
		sameBeforeCuts(t, file, clean([]byte(text)), 5)
	})
}

// servingSources hold what Exports looks at.
var servingSources = []string{
	"import { b as c } from './a.ts';\nexport { c as GET };\nexport * from './a.ts';\nexport const POST = pass(async () => { await can(u, KEY) }), KEY = 'docs.files.nope';",
	"const app = express();\napp.use('/x', auth, sub);\napp.route('/y').get(h).post([a, b], h);\nconst sub = new Hono().use(c).get('/z', (c) => c.json({}, 401));\nexport default app;",
	"'use server'\nexport const a = client.use(async () => {}).inputSchema(z.object({})).action(async () => {});\nexports.b = async () => {};",
	"@Controller('a') class A { @UseGuards(auth) @Get() b() {} @Public() @Post() c() { return 1 } }\nconst p = { provide: APP_GUARD, useClass: A };",
	"export const r = router({ a: t.procedure.input(x).query(() => 1), b: proc.mutation(h) });\nasync function routes(fastify, o) { fastify.addHook('onRequest', fastify.authenticate); fastify.route({ method: 'GET', url: '/', handler: h }) }",
}

// judgeEdited judges a source as a whole project that imports itself: no edit may crash
// it, and what it counts adds up. Propose must bear it too.
func judgeEdited(t *testing.T, config Config, file, text string) {
	t.Helper()
	config.Files, config.Read = []string{file}, fromMap(map[string]string{file: text, "a.ts": text})
	r, err := Verify(context.Background(), config)
	if err != nil {
		return // too deep, as before
	}
	if j := r.Judged; j.ServerFunctions != j.Gated+j.Exempt+j.Findings+j.UnknownWrappers {
		t.Errorf("%+v does not add up", j)
	}
	if _, err := Propose(context.Background(), config); err != nil {
		t.Error(err)
	}
}

// edited makes a few edits: pieces cut, doubled, moved, and syntax put in.
func edited(text string, random *rand.Rand) string {
	pieces := []string{"(", ")", "`", "${", "}", "{", "<", ">", "/", "*/", "/*", "//", "'", "\"", "\\", "\n", "=>", "async ", "export ", "can(", "\"docs.a.b\"",
		"\u2028", "\xff", "\\u0063", "@", "#", "?.", "\n<<<<<<< a\n", "\n||||||| b\n", "\n=======\n", "\n>>>>>>> c\n", "1", "0b1_", "authz-verify-ignore-file", "// authz-verify-ignore-line unknown-pattern x\n", "\nexport ", "\nexport const x = 1;\n", "\nfunction f() {}\n", "\nconst ", "\nclass ", "await ", "import x from 'x'\n", "'use server'\n", "'use client'\nKEY"}
	for range random.IntN(6) {
		at := random.IntN(len(text) + 1)
		to := min(len(text), at+random.IntN(20))
		switch random.IntN(4) {
		case 0:
			text = text[:at] + text[to:]
		case 1:
			text = text[:to] + text[at:]
		case 2:
			text = text[at:to] + text[:at] + text[to:]
		default:
			text = text[:at] + pieces[random.IntN(len(pieces))] + text[at:]
		}
	}
	return text
}
