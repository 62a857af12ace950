// Command generate writes the OpenAPI document of one of the two HTTP APIs, or the
// dashboard's types of the second: generate provider FILE, generate hosted FILE, or
// generate typescript FILE.
package main

import (
	"fmt"
	"os"

	"github.com/authzhost/authz/host/api/hosted"
	"github.com/authzhost/authz/host/api/hosted/openapi"
	"github.com/authzhost/authz/internal/openapi/describe"
	"github.com/authzhost/authz/internal/openapi/typescript"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	documents := map[string]func() ([]byte, error){"provider": describe.Document, "hosted": hosted.Describe,
		"typescript": func() ([]byte, error) { return typescript.Types(openapi.Document) }}
	if len(args) != 2 || documents[args[0]] == nil {
		return fmt.Errorf("expected provider, hosted or typescript, and the name of the file to write")
	}
	document, err := documents[args[0]]()
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], document, 0o644)
}
