package freeport

import "syscall"

// keep binds a socket to the port, and lets others that set SO_REUSEADDR, as servers
// do, bind and listen beside it. That the first binding is made without the option is
// what keeps a second process from choosing the same port. The socket stays open.
func keep(port int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}
	if err != nil {
		_ = syscall.Close(fd)
	}
	return err
}
