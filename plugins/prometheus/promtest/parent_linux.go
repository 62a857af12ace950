package promtest

import "syscall"

// withParent ends the server with a test that was killed.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
