// Package orgroot is the org domain of the hosted API with the relayed rows of
// applications (spec: hosted-api §8.3–§8.5, §10, §11): gates that the org root's
// data decide, and operations routed to their home — the org root, the owner of
// an instance scope, or account data.
//
// It asks applications through the relay and the core for account rows; it stores
// nothing and keeps what the standard client keeps, closures. Whoever cannot be
// asked is an error here, never a denial and never an allow.
package orgroot
