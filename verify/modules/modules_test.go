package modules

import (
	"os"
	"path/filepath"
	"testing"
)

func TestImportsLeadToSources(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"pnpm-workspace.yaml":            "packages: [apps/*]",
		"tsconfig.json":                  `{"compilerOptions":{"paths":{"root/*":["./lib/*"]}}}`,
		"lib/a.ts":                       "",
		"apps/web/tsconfig.json":         "\ufeff{ // why\n \"extends\": \"./base\", /* b */ \"include\": [\"x//y\",], }",
		"apps/web/base.json":             `{"compilerOptions":{"baseUrl":".","paths":{"@/*":["./src/*"],"@/deep/*":["./deep/*"],"one":["./src/one"]}}}`,
		"apps/web/src/one.ts":            "",
		"apps/web/src/two/index.tsx":     "",
		"apps/web/src/three.mts":         "",
		"apps/web/src/four.d.ts":         "",
		"apps/web/deep/five.js":          "",
		"packages/auth/package.json":     `{"name":"@repo/auth","exports":{".":{"types":"./dist/index.d.ts","default":"./dist/index.js"},"./gate":"./src/gate.ts","./x/*":{"import":"./src/x/*.ts"}}}`,
		"packages/auth/src/index.ts":     "",
		"packages/auth/src/gate.ts":      "",
		"packages/auth/src/x/y.ts":       "",
		"packages/auth/src/other.ts":     "",
		"packages/plain/package.json":    `{"name":"plain","main":"lib/main.js"}`,
		"packages/plain/lib/main.js":     "",
		"node_modules/left/package.json": `{"name":"left","main":"index.js"}`,
		"node_modules/left/index.js":     "",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := New()
	for _, c := range []struct{ from, specifier, want string }{
		{"apps/web/src/one.ts", "./two", "apps/web/src/two/index.tsx"},
		{"apps/web/src/one.ts", "./two/index.js", "apps/web/src/two/index.tsx"},
		{"apps/web/src/one.ts", "./three.mjs", "apps/web/src/three.mts"},
		{"apps/web/src/one.ts", "./three", "apps/web/src/three.mts"},
		{"apps/web/src/one.ts", "./four", ""},
		{"apps/web/src/one.ts", "@/one", "apps/web/src/one.ts"},
		{"apps/web/src/one.ts", "@/deep/five", "apps/web/deep/five.js"},
		{"apps/web/src/one.ts", "one", "apps/web/src/one.ts"},
		{"apps/web/src/one.ts", "src/two", "apps/web/src/two/index.tsx"},
		{"apps/web/src/one.ts", "root/a", "lib/a.ts"},
		{"apps/web/src/one.ts", "@repo/auth", "packages/auth/src/index.ts"},
		{"apps/web/src/one.ts", "@repo/auth/gate", "packages/auth/src/gate.ts"},
		{"apps/web/src/one.ts", "@repo/auth/x/y", "packages/auth/src/x/y.ts"},
		{"apps/web/src/one.ts", "@repo/auth/other", "packages/auth/src/other.ts"},
		{"apps/web/src/one.ts", "plain", "packages/plain/lib/main.js"},
		{"apps/web/src/one.ts", "left", ""},
		{"apps/web/src/one.ts", "@repo", ""},
		{"apps/web/src/one.ts", "node:fs", ""},
		{"apps/web/src/one.ts", "/etc/passwd", ""},
		{"apps/web/src/one.ts", "", ""},
		{"lib/a.ts", "..", ""},
	} {
		if got := r.Resolve(c.from, c.specifier); got != c.want {
			t.Errorf("%s imports %q: %q, want %q", c.from, c.specifier, got, c.want)
		}
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte("{ // a\n \"b\": [1,], /* c */ }"))
	f.Fuzz(func(t *testing.T, raw []byte) { plain(raw) })
}
