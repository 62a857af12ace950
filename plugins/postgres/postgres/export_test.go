package postgres

import "github.com/jackc/pgx/v5"

// Traced has the driver tell of every statement.
func Traced(o Options, t pgx.QueryTracer) Options {
	o.tracer = t
	return o
}

// Configure is what the plugin's host calls.
var Configure = configure
