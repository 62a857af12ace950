// Package fault holds the errors of the hosted administrative API: one type for
// all of them, with the name and code of the chapter's tables, and a constructor
// for each class. It knows nothing of HTTP: which status a code has is for the API
// to say. An error never carries a stack, a path, SQL or a secret.
package fault
