package compare

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine says where figures come from.
type Machine struct {
	Go    string `json:"go"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"` // "unknown" where the system does not tell
	Procs int    `json:"procs"`
}

func thisMachine() Machine {
	m := Machine{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: "unknown", Procs: runtime.GOMAXPROCS(0)}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}

// versionOf is the version of a module that this program was built with; "this
// tree" for the one it lies in.
func versionOf(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		switch {
		case dep.Path != module:
		case dep.Replace != nil:
			return "this tree"
		default:
			return dep.Version
		}
	}
	return "unknown"
}
