package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify/codegen"
)

const codegenName = "authz-verify codegen"

func runCodegen(args []string, stdout, stderr io.Writer) int {
	var path, out, prefix, pkg string
	var help, tellVersion bool
	lang := "ts"
	f := flags{
		text: map[string]*string{"--catalog": &path, "--out": &out, "--prefix": &prefix, "--package": &pkg, "--lang": &lang},
		on:   map[string]*bool{"-h": &help, "--help": &help, "--version": &tellVersion},
	}
	err := f.parse(args)
	switch {
	case err != nil:
	case help:
		_, err = io.WriteString(stdout, codegenUsage)
		return statusOf(stderr, codegenName, err)
	case tellVersion:
		return printVersion(stdout, stderr)
	case path == "":
		err = errors.New("--catalog <catalog-document.json> is required")
	case lang != "ts" && lang != "go":
		err = fmt.Errorf("--lang must be ts or go, not %q", lang)
	case f.set["--package"] && lang != "go":
		err = errors.New("--package is only for --lang go")
	case f.set["--package"] && pkg == "":
		err = errors.New("--package must not be empty")
	case f.set["--prefix"] && prefix == "" && lang == "ts":
		err = errors.New("--prefix must not be empty")
	case f.set["--out"] && out == "":
		err = errors.New("--out must not be empty")
	}
	if err != nil {
		return fail(stderr, codegenName, err)
	}
	text, err := generate(path, lang, prefix, pkg)
	if err != nil {
		return fail(stderr, codegenName, err)
	}
	if out == "" {
		_, err := stdout.Write(text)
		return statusOf(stderr, codegenName, err)
	}
	if err := replaceFile(out, text); err != nil {
		return fail(stderr, codegenName, fmt.Errorf("cannot write %s: %w", out, short(err)))
	}
	fmt.Fprintf(stderr, "%s: wrote %s\n", codegenName, escape(out))
	return exitClean
}

func generate(path, lang, prefix, pkg string) (text []byte, err error) {
	raw, err := readJSON(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read catalog %s: %w", path, err)
	}
	if lang == "go" {
		text, err = codegen.Go(raw, codegen.GoOptions{Package: pkg, Prefix: prefix})
	} else {
		text, err = codegen.TypeScript(raw, codegen.TypeScriptOptions{Prefix: prefix})
	}
	var option *codegen.OptionError
	var invalid *authz.CatalogError
	switch {
	case errors.As(err, &option):
		return nil, fmt.Errorf("--%w", option)
	case errors.As(err, &invalid):
		return nil, &invalidError{path, invalid}
	}
	return text, err
}

// statusOf is the status of what only had to be written.
func statusOf(stderr io.Writer, name string, err error) int {
	if err != nil {
		return fail(stderr, name, err)
	}
	return exitClean
}
