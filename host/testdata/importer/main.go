// Command importer is a directory importer that tells what a file says, line by
// line, and misbehaves where a line says so.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

func main() {
	plugin.Serve(plugin.Plugin{
		Name: "scripted", Version: "1.0.0",
		ConfigSchema: []plugin.Setting{{Name: "file", Type: plugin.TypeString, Required: true}},
		Importer: plugin.ImporterKind{
			Capabilities: directory.ImporterCapabilities(),
			Configure: func(_ context.Context, config map[string]any) (directory.Importer, error) {
				return scripted{config["file"].(string)}, nil
			},
		},
	})
}

type scripted struct{ file string }

func (s scripted) Info() directory.ImporterInfo {
	return directory.ImporterInfo{Name: "scripted", Capabilities: directory.ImporterCapabilities()}
}

func (s scripted) Close() error { return nil }

// Import tells the lines of the file, or those of file.changes to who has a cursor.
func (s scripted) Import(ctx context.Context, r directory.Request) iter.Seq2[directory.Entry, error] {
	return func(yield func(directory.Entry, error) bool) {
		path := s.file
		if r.Cursor != "" {
			path += ".changes"
		}
		note(s.file+".asked", fmt.Sprintf("%q", r.Cursor))
		f, err := os.Open(path)
		if err != nil {
			yield(nil, &authz.UnavailableError{Message: "the directory does not answer"})
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			entry, err := read(ctx, lines.Bytes())
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

func note(path, line string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

func read(ctx context.Context, line []byte) (directory.Entry, error) {
	var one map[string]json.RawMessage
	if err := json.Unmarshal(line, &one); err != nil {
		return nil, authz.Validation("the line %q is malformed", line)
	}
	for kind, raw := range one {
		switch kind {
		case "begin":
			return entry[directory.Begin](raw)
		case "user":
			return entry[directory.User](raw)
		case "group":
			return entry[directory.Group](raw)
		case "membership":
			return entry[directory.Membership](raw)
		case "edge":
			return entry[directory.ReportingEdge](raw)
		case "orgs":
			return entry[directory.OrgMembership](raw)
		case "warning":
			return entry[directory.Warning](raw)
		case "end":
			return entry[directory.End](raw)
		case "long": // a user with an id of that many characters
			var n int
			_ = json.Unmarshal(raw, &n)
			return directory.User{UserID: strings.Repeat("x", n)}, nil
		case "fail":
			return nil, &authz.UnavailableError{Message: "the directory hung up"}
		case "die":
			os.Exit(3)
		case "wait": // until the file is there
			var path string
			_ = json.Unmarshal(raw, &path)
			for {
				if _, err := os.Stat(path); err == nil {
					return directory.Warning{Message: "it took a while"}, nil
				}
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(5 * time.Millisecond):
				}
			}
		}
	}
	return nil, authz.Validation("the line %q says nothing", line)
}

func entry[E directory.Entry](raw json.RawMessage) (directory.Entry, error) {
	var e E
	err := json.Unmarshal(raw, &e)
	return e, err
}
