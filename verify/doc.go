// Package verify reads an application's source against its catalog, without
// running it, and reports permissions that do not exist, server functions without
// a gate, visibility questions used as gates, missing conditions, secrets that a
// browser can reach, and permissions that nothing checks (spec: verifier §5).
//
// Verify reads TypeScript, by syntax alone: no types, no network, nothing written. It
// judges file by file, or with Config.Exports what a project serves as a whole. What it is built from serves other front ends too: Judge
// classifies a literal, FindLineSuppressions and Suppress apply pragmas, Conclude
// turns what the files said into a Report. It never reads configuration files and
// never walks directories: that is the command's.
package verify
