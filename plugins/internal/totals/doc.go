// Package totals adds the windows that a sink is given up to totals that only
// grow, for the sinks whose systems want totals: one series for each instrument and
// set of labels, bounded in number, each window taken once.
//
// With a directory the totals and the last sequence of every origin are durable
// before a window counts as taken: a process that is killed goes on where it
// stopped and recognises what it is sent again. The directory belongs to one
// process at a time.
//
// The package serves no network and knows no system: who reads the series tells
// them in its own words. It never lets a window count in part.
package totals
