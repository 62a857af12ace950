// Package notices holds the notices of what other people wrote and the binaries of this
// project are linked with. `make notices` makes them; `make lint` fails when they are not
// those of the modules that are linked.
package notices

import (
	_ "embed"
	"fmt"
	"os"
)

// Text is THIRD_PARTY_NOTICES.
//
//go:embed THIRD_PARTY_NOTICES
var Text string

// Flag is the only argument of a program that is to print them.
const Flag = "--notices"

// Asked prints the notices and ends the program when that is what it was started for.
func Asked() {
	if len(os.Args) != 2 || os.Args[1] != Flag {
		return
	}
	if _, err := fmt.Print(Text); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
