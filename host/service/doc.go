// Package service is the core of the hosted administrative API: who a credential
// speaks for, which gate it passes, and the account data that nobody else owns —
// orgs, seats, API keys, sessions, account rows
// (spec: hosted-api §2–§5, §7, §10, §13).
//
// It touches account data, and asks the org root through the small interfaces it
// declares. Credentials, seats and sessions are read at every request and cached
// nowhere. It knows no HTTP, serves no check, and never stores or logs a secret.
package service
