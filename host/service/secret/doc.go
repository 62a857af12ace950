// Package secret makes and reads what proves identity: bearer tokens, and the host
// keys that encrypt stored secrets and authenticate cursors and CSRF tokens
// (spec: hosted-api §2). It stores nothing, logs nothing, and keeps no token longer
// than a call.
package secret
