//go:build !linux

package pluginhost

import "syscall"

// attributes of a plugin's process: a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
