package slapdtest

import (
	"os/exec"
	"syscall"
)

// endWithParent has the process end with the test even when the test is killed.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
