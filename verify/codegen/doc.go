// Package codegen writes the vocabulary of a published catalog as source text, so
// that a mistyped permission key does not compile, in TypeScript and Go
// (spec: verifier §9, §12.6). The text is a pure function of the document and the
// options; nothing here reads or writes files.
package codegen
