package postgrestest

import (
	"os"
	"os/exec"
	"syscall"
)

// immediateShutdown is what PostgreSQL calls its shutdown without a goodbye.
const immediateShutdown = syscall.SIGQUIT

// nobody owns the cluster when the test runs as root, which PostgreSQL refuses.
const nobody = 65534

// unprivileged has the process run as nobody when the test runs as root, and end
// with the test even when the test is killed.
func unprivileged(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}

func chown(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}
