package pluginhost

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// sealedCopy copies a program into memory that cannot be changed any more, by any
// process. Its descriptor is not inherited. errors.ErrUnsupported says that this
// system executes nothing from there.
func sealedCopy(source *os.File, name string) (*os.File, error) {
	if _, err := os.Stat("/proc/self/fd"); err != nil { // where it is executed by name
		return nil, errors.ErrUnsupported
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil { // vm.memfd_noexec, a filter of system calls
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	memory := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(memory, source)
	if err == nil {
		_, err = unix.FcntlInt(memory.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return nil, errors.Join(err, memory.Close())
	}
	return memory, nil
}

func noexec(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Flags&unix.ST_NOEXEC != 0
}
