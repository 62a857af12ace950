//go:build !unix || aix || solaris || illumos

package totals

import (
	"errors"
	"os"
	"time"
)

// lock refuses: a directory that two processes write would count wrongly.
func lock(*os.File, time.Duration) error {
	return errors.New("a directory cannot be locked on this system")
}
