package postgres

import "github.com/jackc/pgx/v5"

// Traced has the driver tell of every statement.
func Traced(o Options, t pgx.QueryTracer) Options {
	o.tracer = t
	return o
}

// EncodeResult and DecodeResult are the result column of a commit.
var EncodeResult, DecodeResult = encodeResult, decodeResult

// Configure is what the plugin's host calls.
var Configure = configure
