// Package eventlog reads the event logs of several partitions as one. Log is the
// composite log that an application revalidates its caches by; Poller hands the events
// of each log to the caches before they ask. Both are given the logs, and do nothing
// but read them (spec: caching §10.1, §13, mesh §6.5).
package eventlog
