// Package sources finds the TypeScript files of a project (verifier contract §3).
// It reads directories, never files.
package sources
