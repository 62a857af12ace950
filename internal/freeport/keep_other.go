//go:build !linux

package freeport

import (
	"fmt"
	"net"
)

// keep only looks whether the port is free: what a bound socket keeps from others
// differs between systems.
func keep(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}
