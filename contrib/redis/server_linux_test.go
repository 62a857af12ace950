package redis_test

import (
	"os/exec"
	"syscall"
)

// endWithTest has the server killed when the test ends without its clean-up.
func endWithTest(server *exec.Cmd) {
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
