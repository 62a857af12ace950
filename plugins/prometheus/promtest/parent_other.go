//go:build !linux

package promtest

import "syscall"

func withParent() *syscall.SysProcAttr { return nil }
