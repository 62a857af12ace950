package config

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/spell"
)

const (
	refEnv  = "env:"
	refFile = "file:"

	minSecret = 16
	maxSecret = 64 << 10
)

// resolve reads what a reference of a key names; a string that is none is a value of its
// own. why says what is wrong, without the value. One newline at the end of a
// file is the editor's, not the value's.
func (l *loader) resolve(key []string, s, base string) (secret Secret, why string) {
	if name, ok := strings.CutPrefix(s, refEnv); ok {
		if !validVariable(name) {
			return Secret{}, "env: is followed by the name of an environment variable, such as env:ACME_SECRET"
		}
		l.referenced[name] = true
		value := l.environ[name]
		if value == "" {
			return Secret{}, "the environment variable " + name + " is not set"
		}
		return Secret{value: value, reference: s}, ""
	}
	path, ok := strings.CutPrefix(s, refFile)
	if !ok {
		return Secret{value: s}, ""
	}
	if path == "" {
		return Secret{}, "file: is followed by the path of a file"
	}
	path = absolute(base, path)
	value, why := readBounded(path)
	if why != "" {
		return Secret{}, why
	}
	l.judge(key, path, files.Secret)
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	return Secret{value: value, reference: refFile + path}, ""
}

func readBounded(path string) (value, why string) {
	f, err := os.Open(path)
	if err != nil {
		return "", "the file " + spell.Quote(path) + " cannot be opened: " + reason(err).Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", "the file " + spell.Quote(path) + " is no regular file"
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", "the file " + spell.Quote(path) + " cannot be read: " + reason(err).Error()
	case len(b) > maxSecret:
		return "", "the file " + spell.Quote(path) + " is too large for a secret"
	case strings.TrimSpace(string(b)) == "":
		return "", "the file " + spell.Quote(path) + " is empty"
	}
	return string(b), ""
}

// secretProblem says why a bearer secret cannot serve, "" when it can.
func secretProblem(value string) string {
	if strings.IndexFunc(value, unicode.IsControl) >= 0 {
		return "the secret holds a line break or another control character, and could not be sent"
	}
	if open := strings.Index(value, "${"); open >= 0 && strings.Contains(value[open:], "}") {
		return "the secret holds an unresolved ${…}: nothing has put a value in its place"
	}
	if len(value) < minSecret {
		return "the secret is shorter than 16 characters"
	}
	return ""
}
