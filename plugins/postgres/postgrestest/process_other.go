//go:build !linux

package postgrestest

import (
	"os"
	"os/exec"
)

const immediateShutdown = os.Kill

// unprivileged does nothing here: run these tests as an ordinary user.
func unprivileged(*exec.Cmd) {}

func chown(string) error { return nil }
