// Package hosted is the HTTP face of the hosted administrative API: one table of
// endpoints, and what every one of them shares — strict reading, credentials,
// CSRF, rate limits, cursors, conditional writes, idempotency, the envelope of
// errors, and the OpenAPI document made from the table.
//
// It binds rows of the table to methods of the services below host/service. It
// decides nothing about access itself, never touches storage but for idempotency
// entries, and lets no cause of an error into an answer.
package hosted
