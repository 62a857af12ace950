package main

import (
	"encoding/json"
	"errors"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/sdk/provider"
)

var (
	snippet      = regexp.MustCompile("(?ms)(<!-- from \\S+ -->\n)?^( *)```(\\w+)([^\n]*)\n(.*?)^ *```")
	authzCommand = regexp.MustCompile(`(?:^|[|&;(]\s*|\$ )(?:bin/)?authz ([^|&;>#\n]*)`)
	operation    = regexp.MustCompile(`(?m)^POST (?:/internal/authz)?/v1/(\w+)`)
	notJSON      = regexp.MustCompile(`(?m)^(?:GET|POST|PUT|PATCH|DELETE) .*$|→(?: \d\d\d)?| {3,}Set-Cookie:.*$`)
)

// What the documentation shows is what programs read: each command parses, each file of
// YAML and JSON does, configurations have the members that the host knows, and Go is Go.
func TestTheSnippetsOfTheDocumentationAreRead(t *testing.T) {
	tracked, err := exec.Command("git", "-C", "../..", "ls-files", "*.md").Output()
	if err != nil {
		t.Skip("the pages are those of a repository under git: ", err)
	}
	seen := map[string]int{}
	for page := range strings.Lines(string(tracked)) {
		page = strings.TrimSpace(page)
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, s := range snippet.FindAllStringSubmatch(string(text), -1) {
			kind, body := s[3], strings.ReplaceAll(s[5], "\n"+s[2], "\n")
			body = strings.TrimPrefix(body, s[2])
			seen[kind]++
			var err error
			switch kind {
			case "sh", "console":
				err = commandsParse(body)
			case "yaml":
				err = yamlReads(t, body)
			case "json":
				err = jsonReads(body)
			case "go":
				if s[1] == "" { // else it stands in an example, as another test sees
					err = goReads(body)
				}
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", page, err, body)
			}
		}
	}
	for _, kind := range []string{"sh", "console", "yaml", "json", "go"} {
		if seen[kind] < 10 {
			t.Errorf("%d snippets of %s were found", seen[kind], kind)
		}
	}
}

// goReads wants declarations and statements, each part between empty lines for itself where
// they are mixed.
func goReads(body string) error {
	body = strings.ReplaceAll(body, "{ … }", "{}")
	if _, err := format.Source([]byte(body)); err == nil {
		return nil
	}
	for part := range strings.SplitSeq(body, "\n\n") {
		if _, err := format.Source([]byte(part)); err != nil {
			return err
		}
	}
	return nil
}

func commandsParse(body string) error {
	body = strings.ReplaceAll(body, "\\\n", " ")
	for line := range strings.Lines(body) {
		for _, m := range authzCommand.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
			words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(m[1]))
			if len(words) == 0 {
				continue
			}
			found, args, err := newRoot().Find(words)
			if err != nil {
				return err
			}
			if err := found.ParseFlags(args); err != nil {
				return err
			}
			if err := found.ValidateArgs(found.Flags().Args()); err != nil && !strings.ContainsAny(m[1], `'"`) {
				return err
			}
		}
	}
	return nil
}

// yamlReads wants YAML, and of what is a configuration no member that the host does not
// know. References to files and variables of somebody's machine lead nowhere here.
func yamlReads(t *testing.T, body string) error {
	body = strings.ReplaceAll(body, "{…}", "{}")
	var members map[string]any
	if err := yaml.Unmarshal([]byte(body), &members); err != nil {
		var list []any
		if yaml.Unmarshal([]byte(body), &list) == nil {
			return nil
		}
		return err
	}
	if !slices.ContainsFunc([]string{"plugins", "applications", "listen", "service", "directories", "audit"}, func(name string) bool { return members[name] != nil }) || members["version"] != nil {
		return nil
	}
	path := filepath.Join(t.TempDir(), "authz.yaml")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		return err
	}
	_, err := config.Load(config.Source{Path: path})
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, "unknown key") {
			return errors.New(line)
		}
	}
	return nil
}

// jsonReads wants one JSON value after another. What stands between them is the line of a
// request; an operation that it names is one of the provider API.
func jsonReads(body string) error {
	for _, m := range operation.FindAllStringSubmatch(body, -1) {
		if !slices.ContainsFunc(provider.Operations, func(o *provider.Operation) bool { return o.Op == m[1] }) {
			return errors.New("no operation " + m[1])
		}
	}
	d := json.NewDecoder(strings.NewReader(strings.ReplaceAll(notJSON.ReplaceAllString(body, ""), "{…}", "{}")))
	for {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
