// Command generate writes THIRD_PARTY_NOTICES from the licence files of the modules that
// the shipped binaries are linked with. It fails on a module without a licence, and on a
// licence that nobody has looked at. It never uses the network beyond the go command's.
//
// go-licenses tells the same of licences, but asks the network for every module, and
// leaves out NOTICE files, further licence files of a module, and the Go library itself.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// A program is a shipped binary: a package, and the folder of the module that it is in.
type program struct{ name, module, pkg string }

func programs(root string) []program {
	list := []program{
		{"authz", ".", "./cmd/authz"}, {"authz-conformance", ".", "./cmd/authz-conformance"},
		{"acme-questions", ".", "./examples/acme/cmd/acme-questions"},
		{"authz-verify", "verify", "./cmd/authz-verify"}, {"authz-govet", "verify", "./cmd/authz-govet"},
	}
	plugins, _ := filepath.Glob(filepath.Join(root, "plugins", "*", "main.go")) // the pattern is a good one
	for _, main := range plugins {
		name := filepath.Base(filepath.Dir(main))
		list = append(list, program{"authz-plugin-" + name, ".", "./plugins/" + name})
	}
	return list
}

const hint = "run 'make notices' and look at what it changes"

func main() {
	root := flag.String("root", "../../..", "the project's folder")
	check := flag.Bool("check", false, "write nothing: fail unless the notices are those of the modules that are linked")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	modules, err := linked(root, programs(root))
	if err != nil {
		return err
	}
	c, err := newClassifier()
	if err != nil {
		return err
	}
	var failed []error
	for _, m := range modules {
		failed = append(failed, c.read(m))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	dashboard, err := os.ReadFile(filepath.Join(root, "web", "dist", "third-party.txt")) // which its build writes
	if err != nil {
		return err
	}
	text := render(modules, dashboard)
	path := filepath.Join(root, "internal", "notices", "THIRD_PARTY_NOTICES")
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	stored, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(stored, text) {
		err = fmt.Errorf("%s does not tell what is linked: %s", path, hint)
	}
	return err
}
