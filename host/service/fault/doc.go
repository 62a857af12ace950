// Package fault holds the errors of the hosted administrative API: one type for
// all of them, with the status, name and code of the chapter's tables, and a
// constructor for each class. It knows nothing of HTTP beyond status numbers and
// never carries a stack, a path, SQL or a secret.
package fault
