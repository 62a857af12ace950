//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "authz-faults: it finds processes through /proc and needs Linux")
	os.Exit(2)
}
