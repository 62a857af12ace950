package stopped

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// patience is for a machine that does not get around to it.
const patience = 30 * time.Second

// Await returns when every thread of the process has stopped: until then it may still
// answer. Other systems than Linux do not tell; there it gives the process some time.
func Await(pid int) error {
	if runtime.GOOS != "linux" {
		time.Sleep(200 * time.Millisecond)
		return nil
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		switch all, gone := look(pid); {
		case all:
			return nil
		case gone:
			return fmt.Errorf("process %d has ended instead of stopping", pid)
		case time.Now().After(end):
			return fmt.Errorf("process %d has not stopped within %v", pid, patience)
		}
	}
}

func look(pid int) (all, gone bool) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, true
	}
	all, gone = true, true
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		_, state, found := strings.Cut(string(stat), ") ")
		all = all && err == nil && found && state[0] == 'T'
		gone = gone && err == nil && found && state[0] == 'Z'
	}
	return all, gone
}
