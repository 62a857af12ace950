// Package freeport chooses loopback ports for processes that this one starts, when
// they must be told where to listen. It chooses below the range from which the
// system takes ports for outgoing connections. On Linux it keeps a port for the life of
// this process: no other process chooses it and no connection takes it, while whoever
// is told may listen there, and again after an end.
package freeport
