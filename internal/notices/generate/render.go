package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

const rule = "================================================================================\n"

// render writes each text once, below the modules that it is of. What the dashboard is
// built of comes last.
func render(modules []*module, dashboard []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`THIRD-PARTY NOTICES

The binaries of authz (LICENSE: MIT) are linked with the modules below. Their licences and
notices follow. This file is made by 'make notices' from the modules themselves; it is in
every binary ('authz version --notices', of the others '--notices').

`)
	for _, m := range modules {
		fmt.Fprintf(&b, "%s\n    %s; in %s\n", m, strings.Join(m.kinds, ", "), strings.Join(slices.Sorted(maps.Keys(m.programs)), ", "))
		if slices.Contains(m.kinds, mpl) {
			fmt.Fprintf(&b, "    Used unmodified. Its source code form is to be had at\n    %s\n    and https://pkg.go.dev/%s@%s\n", zip(m), m.path, m.version)
		}
	}
	var texts []string
	of := map[string][]string{}
	for _, m := range modules {
		for _, f := range m.files {
			if of[f.text] == nil {
				texts = append(texts, f.text)
			}
			of[f.text] = append(of[f.text], m.String()+": "+f.name)
		}
	}
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s%s\n%s\n%s\n", rule, strings.Join(of[text], "\n"), rule, text)
	}
	fmt.Fprintf(&b, "\n%sThe dashboard, which authz carries, is built of the packages below.\n%s\n%s", rule, rule, dashboard)
	return b.Bytes()
}

// zip is where the module proxy, which keeps every version for good, has the source. It
// writes a capital letter as ! and the small one.
func zip(m *module) string {
	var path strings.Builder
	for _, r := range m.path {
		if unicode.IsUpper(r) {
			path.WriteByte('!')
		}
		path.WriteRune(unicode.ToLower(r))
	}
	return "https://proxy.golang.org/" + path.String() + "/@v/" + m.version + ".zip"
}
