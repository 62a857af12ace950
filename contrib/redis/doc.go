// Package redis keeps the shared tier of clients in Redis, Valkey or anything
// that speaks their protocol. It issues GET, SET with PX, and DEL, nothing else,
// over a connection that the caller configured and closes.
//
// The store holds authority: who can write to it can grant themselves access. Use
// a private, authenticated server.
package redis
