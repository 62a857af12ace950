package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of a page.
const (
	longest     = 32   // words of a sentence that is not long
	maxAverage  = 16.0 // words a sentence
	maxPassives = 0.35 // of the sentences
)

// figures are those of a page.
type figures struct {
	page             string
	sentences, words int
	long             []sentence
	passives         int
}

func (f figures) average() float64 { return float64(f.words) / float64(max(f.sentences, 1)) }
func (f figures) share() float64   { return float64(f.passives) / float64(max(f.sentences, 1)) }

func measure(page string, source []byte) figures {
	f := figures{page: page}
	for _, s := range sentences(source) {
		n := s.words()
		if n < 3 || 2*strings.Count(s.text, "`…`") > n {
			continue // a cell of a table, or a list of names
		}
		f.sentences++
		f.words += n
		if n > longest {
			f.long = append(f.long, s)
		}
		if isPassive(s.text) {
			f.passives++
		}
	}
	return f
}

// pages are the Markdown files of the project that people read, without what is generated
// and the exceptions of the golden vectors, which quote rules.
func pages(root string) (list []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "node_modules", "testdata", "dist", "generated"}, name)) {
			return fs.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".md" && name != "EXCEPTIONS.md" {
			list = append(list, path)
		}
		return err
	})
	return list, err
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("prose", flag.ContinueOnError)
	flags.SetOutput(out)
	root := flags.String("root", "../..", "the project's folder, whose pages are measured")
	show := flags.String("show", "", "list the sentences of this page, relative to the root, that are too long or in the passive")
	check := flags.Bool("check", false, "print only what is beyond the limits")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *show != "" {
		return showPage(filepath.Join(*root, *show), out)
	}
	list, err := pages(*root)
	if err != nil {
		return err
	}
	beyond := 0
	if !*check {
		fmt.Fprintf(out, "%-34s %9s %14s %9s %8s\n", "page", "sentences", "words/sentence", "over 32", "passive")
	}
	for _, path := range list {
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(*root, path)
		if err != nil {
			return err
		}
		f := measure(filepath.ToSlash(name), source)
		problems := f.problems()
		if !*check {
			fmt.Fprintf(out, "%-34s %9d %14.1f %9d %7.0f%%\n", f.page, f.sentences, f.average(), len(f.long), 100*f.share())
			continue
		}
		for _, p := range problems {
			fmt.Fprintln(out, p)
		}
		beyond += len(problems)
	}
	if beyond > 0 {
		return fmt.Errorf("%d faults: shorten the sentences; `go run . -show PAGE` in internal/prose lists those of a page", beyond)
	}
	return nil
}

func (f figures) problems() (list []string) {
	for _, s := range f.long {
		list = append(list, fmt.Sprintf("%s:%d: a sentence of %d words: %s", f.page, s.line, s.words(), s.text))
	}
	if f.average() > maxAverage {
		list = append(list, fmt.Sprintf("%s: %.1f words a sentence, more than %.0f", f.page, f.average(), maxAverage))
	}
	if f.share() > maxPassives {
		list = append(list, fmt.Sprintf("%s: %.0f %% of the sentences are in the passive, more than %.0f", f.page, 100*f.share(), 100*maxPassives))
	}
	return list
}

func showPage(path string, out io.Writer) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, s := range sentences(source) {
		switch {
		case s.words() > longest:
			fmt.Fprintf(out, "%d: %d words: %s\n", s.line, s.words(), s.text)
		case isPassive(s.text):
			fmt.Fprintf(out, "%d: passive: %s\n", s.line, s.text)
		}
	}
	return nil
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}
