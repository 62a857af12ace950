package pluginhost

import "syscall"

// attributes of a plugin's process: a group of its own, and an end that comes
// with the host's whatever state it is in. A plugin exits with its lifeline, but
// one that is stopped or stuck would not.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
