// Package condition judges what an application's configuration demands beside rows: for a
// key that the catalog declares requiresCondition, an expression in CEL over the principal,
// the scope and what the caller sends with a check (spec: access §8.2).
//
// A condition only narrows. Expressions are compiled and typed when the host starts, and
// bounded in what they cost. What cannot be judged is an error, never an answer.
package condition
