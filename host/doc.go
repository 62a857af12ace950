// Package host is a whole host: Open turns a configuration into running plugins,
// applications and listeners, Close takes them down in order.
//
// It wires and supervises the packages below it. It decides nothing about access
// itself. A Go program that embeds a host opens the same configuration and asks its
// applications in process.
package host
