// Command bench measures authz-verify as its users run it: the built program over
// a generated project of 10,000 TypeScript files, with its time and its greatest
// resident memory as the system counts them. It belongs to no product.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	catalog = `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[{"key":"docs.files.read","kind":"read"}],"groups":[],"scopeTypes":[],"navigation":[]}`
	gate    = "export async function open%d(user: User): Promise<boolean> {\n  return await guard.can(user, \"docs.files.read\", \"*\");\n}\n"
)

// pieces are what a file is made of besides, in turn.
var pieces = []string{
	"/** Loads item %d of the list, see https://example.com. */\nexport async function load%d(user: User, id: string): Promise<Item[]> {\n" +
		"  const rows = await db.query(`select * from items where id = ${id} and owner = ${user.id}`, { limit: 10 });\n" +
		"  return rows.filter((row) => row.visible && row.tags.some((t) => t.name === 'x')).map((row) => ({ ...row, at: new Date(row.at) }));\n}\n\n",
	"export interface Props%d<T extends object = {}> {\n  readonly items%d: ReadonlyArray<T>;\n  onSelect?: (item: T, index: number) => void | Promise<void>;\n  label: string | null;\n}\n\n",
	"export function Card%d({ title, open }: { title: string; open?: boolean }) {\n  const [state%d, setState] = useState(open ?? false);\n" +
		"  return <section className=\"card\" onClick={() => setState(!open)}>{open ? <h2>{title}</h2> : null}</section>;\n}\n\n",
	"export const total%d = (rows: readonly Row[]): number => rows.filter((row) => row.kind !== \"draft\").reduce((sum, row) => sum + row.amount * %d, 0);\n\n",
}

func main() {
	files := flag.Int("files", 10_000, "files of the project")
	size := flag.Int("size", 9_000, "bytes of a file, about")
	runs := flag.Int("runs", 5, "runs of each kind; the median is printed")
	flag.Parse()
	if err := measure(*files, *size, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(files, size, runs int) error {
	dir, err := os.MkdirTemp("", "authz-verify-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "authz-verify")
	if out, err := exec.Command("go", "build", "-o", program, "./cmd/authz-verify").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	fmt.Println("| authz-verify | time | memory |\n| --- | ---: | ---: |")
	for _, c := range []struct {
		name  string
		every int // of how many files one asks a question
		cache bool
	}{{"every file parsed", 1, false}, {"one file in three relevant", 3, false}, {"again with --cache, nothing changed", 3, true}} {
		project := filepath.Join(dir, fmt.Sprint(c.every, c.cache))
		bytes, err := generate(project, files, size, c.every)
		if err != nil {
			return err
		}
		args := []string{}
		if c.cache {
			args = []string{"--cache", filepath.Join(dir, "cache")}
		}
		if _, _, err := run(program, project, args); err != nil { // files and cache get warm
			return err
		}
		var took []time.Duration
		var most int64
		for range runs {
			d, memory, err := run(program, project, args)
			if err != nil {
				return err
			}
			took, most = append(took, d), max(most, memory)
		}
		slices.Sort(took)
		fmt.Printf("| %s (%d files, %d MB) | %.2f s | %d MiB |\n", c.name, files, bytes>>20, took[len(took)/2].Seconds(), most>>20)
	}
	return nil
}

func generate(dir string, files, size, every int) (total int, err error) {
	source := filepath.Join(dir, "src")
	for n := range files {
		var text strings.Builder
		text.WriteString("import { guard, type Row, type User } from \"./lib\";\n")
		// What follows the last gate is not parsed: where every file is to be, it ends with one.
		at := size
		if every > 1 {
			at = rand.New(rand.NewPCG(1, uint64(n))).IntN(size)
		}
		asked := n%every > 0
		for i := 0; text.Len() < size || !asked; i++ {
			if !asked && text.Len() >= at {
				fmt.Fprintf(&text, gate, n)
				asked = true
			}
			fmt.Fprintf(&text, pieces[i%len(pieces)], i, i)
		}
		path := filepath.Join(source, fmt.Sprint("m", n%100), fmt.Sprintf("f%d.tsx", n))
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text.String()), 0o644))
		if err != nil {
			return 0, err
		}
		total += text.Len()
	}
	return total, errors.Join(os.WriteFile(filepath.Join(dir, "catalog.json"), []byte(catalog), 0o644),
		os.WriteFile(filepath.Join(dir, "authz-verify.config.json"), []byte(`{"catalog":"./catalog.json"}`), 0o644))
}

func run(program, dir string, args []string) (took time.Duration, memory int64, err error) {
	c := exec.Command(program, args...)
	c.Dir = dir
	began := time.Now()
	out, err := c.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("%w\n%.2000s", err, out)
	}
	return time.Since(began), c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, nil
}
