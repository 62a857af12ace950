package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/authzhost/authz/verify/goanalysis"
)

// identify answers what go vet asks a tool first. It remembers packages that
// passed by this answer, so the answer covers, beside the program, the
// configuration and the catalog: a package that was clean must be judged again
// when they change. What flags name, go vet does not tell here.
func identify(o goanalysis.Options) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	o.Fingerprint(h, dir)
	fmt.Printf("%s version devel comments-go-here buildID=%x\n", program, h.Sum(nil))
	return nil
}
