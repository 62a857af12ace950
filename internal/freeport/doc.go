// Package freeport chooses loopback ports for processes that this one starts, when
// they must be told where to listen. It chooses below the range from which the
// system takes ports for outgoing connections, since one of those may take the port
// before the process listens, or between two of its lives. It never keeps a port.
package freeport
