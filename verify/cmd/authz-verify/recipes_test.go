package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipes are the headings of docs/verify.md and the projects below testdata/recipes.
var recipes = map[string]string{"Next.js app router": "next-app", "Server actions": "server-actions", "tRPC": "trpc", "Hono": "hono",
	"Express": "express", "Fastify": "fastify", "NestJS": "nestjs", "Medusa": "medusa"}

var gateMark = regexp.MustCompile(`// gate(?:: (.*))?$`)

// TestEveryRecipeVerifiesAndMissesNoGate verifies the project of each recipe by the
// configuration that the documentation shows, and again with each of its gates taken
// out.
func TestEveryRecipeVerifiesAndMissesNoGate(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	for heading, name := range recipes {
		t.Run(name, func(t *testing.T) {
			_, section, _ := strings.Cut(string(doc), "\n#### "+heading+"\n")
			_, section, found := strings.Cut(section, "```json\n")
			configuration, _, closed := strings.Cut(section, "```")
			if !found || !closed {
				t.Fatalf("docs/verify.md shows no configuration below %q", heading)
			}
			dir := filepath.Join(t.TempDir(), name)
			if err := os.CopyFS(filepath.Dir(dir), os.DirFS("../../testdata/recipes")); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			write(t, "authz-verify.config.json", configuration)
			status, _, stderr := call(t)
			if status != exitClean || !strings.Contains(stderr, ", 0 findings, 0 behind unknown wrappers\n") || strings.Contains(stderr, " 0 server functions") {
				t.Fatalf("exit %d\n%s", status, stderr)
			}
			gates := 0
			_ = filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(string(text), "\n")
				for i, line := range lines {
					m := gateMark.FindStringSubmatch(line)
					if m == nil {
						continue
					}
					gates++
					without := append(append([]string{}, lines[:i]...), m[1])
					write(t, path, strings.Join(append(without, lines[i+1:]...), "\n"))
					status, _, stderr := call(t)
					if status != exitIssues || !strings.Contains(stderr, "[ungated-action]") && !strings.Contains(stderr, "[unknown-wrapper]") {
						t.Errorf("without %s:%d, %q: exit %d\n%s", path, i+1, strings.TrimSpace(line), status, stderr)
					}
				}
				write(t, path, string(text))
				return nil
			})
			if gates == 0 {
				t.Error("no gate is marked")
			}
			t.Logf("%d gates, each found when it is gone", gates)
		})
	}
}
