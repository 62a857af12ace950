// Package audited tells which entries of an audit log somebody asks for: those about a
// person or another subject, and those of a family of actions (spec: hosted-api §15).
package audited
