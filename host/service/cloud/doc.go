// Package cloud is the built-in vocabulary of account data: the catalog of
// namespace cloud, its keys, and the roles that seats hold (spec: hosted-api §5.1).
// It is pure: no I/O, no clock.
package cloud
