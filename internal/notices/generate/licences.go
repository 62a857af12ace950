package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	classifier2 "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// known are the licences that somebody has looked at, with what they ask beside their
// text: MPL-2.0, that the notice says where the source is.
var known = map[string]bool{"Apache-2.0": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "MIT": true, mpl: true, "Unlicense": true}

const mpl = "MPL-2.0"

var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([-._].*)?$`)

var noticeFile = regexp.MustCompile(`(?i)^(notice|patents)`)

// A file is one that a module asks to be passed on.
type file struct{ name, text string }

type classifier struct{ *classifier2.Classifier }

func newClassifier() (classifier, error) {
	c, err := assets.DefaultClassifier()
	return classifier{c}, err
}

// kinds are the licences that a text holds, by their SPDX names.
func (c classifier) kinds(text []byte) (names []string) {
	for _, m := range c.Match(text).Matches {
		if m.MatchType == "License" || m.MatchType == "Header" {
			names = append(names, m.Name)
		}
	}
	return names
}

// read finds the files of a module: in the folders of what is linked and those above.
func (c classifier) read(m *module) error {
	dirs := map[string]bool{}
	for dir := range m.dirs {
		for ; strings.HasPrefix(dir, m.dir) && !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	kinds := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			name, err := filepath.Rel(m.dir, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			f := file{name: filepath.ToSlash(name), text: plain(string(text))}
			if noticeFile.MatchString(e.Name()) {
				m.files = append(m.files, f)
				continue // what it tells of others is theirs to have looked at
			}
			for _, kind := range c.kinds(text) {
				kinds[kind] = true
			}
			m.files = append(m.files, f)
		}
	}
	m.kinds = slices.Sorted(maps.Keys(kinds))
	switch {
	case len(m.files) == 0:
		return fmt.Errorf("%s has no licence file: it cannot be shipped", m)
	case len(m.kinds) == 0:
		return fmt.Errorf("%s: no licence is recognised in %s: read it, and say so in this command's licences.go", m, m.files[0].name)
	}
	for _, kind := range m.kinds {
		if !known[kind] {
			return fmt.Errorf("%s has the licence %s, which nobody has looked at: read it, and say so in this command's licences.go", m, kind)
		}
	}
	return nil
}

func plain(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f\ufeff")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n\ufeff")
}
