package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/authzhost/authz/verify/goanalysis"
)

// passOver answers go vet for a package that it wants facts of and that is none of the
// project's, without reading it: it has none.
func passOver(args []string) bool {
	if len(args) == 0 || !strings.HasSuffix(args[len(args)-1], ".cfg") {
		return false
	}
	text, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		return false
	}
	var unit struct {
		ImportPath, Dir, ModuleVersion, VetxOutput string
		VetxOnly                                   bool
		Module                                     *struct{ Version string }
	}
	if json.Unmarshal(text, &unit) != nil || !unit.VetxOnly || unit.VetxOutput == "" {
		return false
	}
	version := unit.ModuleVersion
	if unit.Module != nil {
		version = unit.Module.Version
	}
	return goanalysis.OfOthers(unit.ImportPath, unit.Dir, version) && os.WriteFile(unit.VetxOutput, nil, 0o666) == nil
}
