// Package sources finds the TypeScript files of a project (spec: verifier §3). It
// reads directories, never files.
package sources
