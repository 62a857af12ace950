package store

import (
	"fmt"
	"time"
)

// clockTolerance is by how much the clocks of database and host may differ unsaid.
const clockTolerance = 5 * time.Second

// compareClocks keeps what a driver measured, and logs when the clocks part and when
// they are together again.
func (s *Store) compareClocks(ahead *time.Duration) {
	s.mu.Lock()
	before := apart(s.clockAhead)
	s.clockAhead = ahead
	s.mu.Unlock()
	switch now := apart(ahead); {
	case now == "":
		if before != "" && ahead != nil {
			s.opts.Logger.Info("the clocks of database and host agree again", "application", s.opts.Application, "ahead", ahead.String())
		}
	case before == "":
		s.opts.Logger.Warn(now, "application", s.opts.Application, "partition", s.partition, "driver", s.driverName, "ahead", ahead.String())
	}
}

// apart says that clocks differ by more than is tolerated; "" says that they don't, or
// that nobody knows.
func apart(ahead *time.Duration) string {
	switch {
	case ahead == nil || ahead.Abs() <= clockTolerance:
		return ""
	case *ahead < 0:
		return fmt.Sprintf("the database's clock is %v behind this host's: leases are judged by the one, expiries by the other; synchronize both", -*ahead)
	}
	return fmt.Sprintf("the database's clock is %v ahead of this host's: leases are judged by the one, expiries by the other; synchronize both", *ahead)
}

// Clock is by how much the database's clock is ahead of this host's, nil when the driver
// does not tell, and what to say of it when that is too much.
func (s *Store) Clock() (ahead *time.Duration, warning string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clockAhead, apart(s.clockAhead)
}
