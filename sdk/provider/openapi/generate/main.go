// Command generate writes the OpenAPI document of the provider API.
package main

import (
	"fmt"
	"os"

	"github.com/authzhost/authz/sdk/provider/openapi/describe"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("expected the name of the file to write")
	}
	document, err := describe.Document()
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], document, 0o644)
}
