// Package config reads the file that tells authz-verify what to check
// (spec: verifier §2), strictly: a wrong field is an error that names it. It also
// writes a first one from what lies in a project. It reads no source and no
// catalog to judge them.
package config
