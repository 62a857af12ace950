// Package postgrestest gives tests a PostgreSQL server of their own: a throw-away
// cluster started from the binaries of the machine, or the server that
// AUTHZ_TEST_POSTGRES_DSN names.
//
// It serves tests, benchmarks and the commands that inject faults; nothing that is
// shipped imports it. It starts only processes that it ends again, by their own
// id, and writes only below a temporary folder of its own.
package postgrestest
