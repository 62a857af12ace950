// Package billing keeps the meters and caps of an org (spec: hosted-api §16).
// Standing dimensions are counted where they stand when they are asked for;
// counted ones grow in the commit of what they count, so that a meter never
// differs from what happened.
//
// It touches account data only. It meters nothing of checks and evaluation, and a
// cap that is reached refuses hosted conveniences only: whoever asks decides what.
package billing
