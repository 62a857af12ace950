package pluginhost

import (
	"fmt"
	"strings"
)

// StartError is a plugin that could not be started. Reason is for people; Cause
// carries a typed refusal, such as *plugin.ConfigError, where there is one.
type StartError struct {
	Plugin     string // the instance's name in the configuration
	Path       string // of the binary, "" when none was found
	Reason     string
	LastOutput []string // the last lines that the process wrote
	Cause      error
}

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %q", e.Plugin)
	if e.Path != "" {
		fmt.Fprintf(&b, " (%s)", e.Path)
	}
	b.WriteString(" could not be started: " + e.Reason)
	if len(e.LastOutput) > 0 {
		b.WriteString("\nits last output was:")
		for _, line := range e.LastOutput {
			b.WriteString("\n  " + line)
		}
	}
	return b.String()
}

func (e *StartError) Unwrap() error { return e.Cause }
