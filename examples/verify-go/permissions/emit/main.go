// Emit writes the catalog document, which the verifier reads, to a file or, without
// one, to standard output.
package main

import (
	"log"
	"os"

	"example.com/notes/permissions"
)

func main() {
	document, err := permissions.Catalog.Document()
	if err == nil {
		if len(os.Args) > 1 {
			err = os.WriteFile(os.Args[1], document, 0o644)
		} else {
			_, err = os.Stdout.Write(document)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}
