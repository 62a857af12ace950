// Package relay asks applications in the name of the hosted service
// (spec: hosted-api §9): over HTTP at their relay URL, or in this process for
// "local:".
//
// Nothing goes over a link before a ping of the last minute has named the
// application that the link is of.
//
// The room also holds which addresses may be asked, how long and how much is waited
// for, when a failing application is left alone, and what every failure is called
// here. It keeps provider secrets in memory only, stores nothing and decides
// nothing: what it cannot learn is an error, never an answer.
package relay
