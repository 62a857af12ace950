//go:build unix && !aix && !solaris && !illumos

package totals

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lock keeps other processes from the directory until it is closed.
func lock(folder *os.File, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return errors.New("the directory cannot be locked: " + err.Error())
		case time.Now().After(deadline):
			return errors.New("another process has the directory")
		}
	}
}
