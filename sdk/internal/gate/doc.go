// Package gate is what the middleware of the sdk has alike, whatever carries the request:
// it asks who, where and whether, and tells a denial from a mistake and from an outage.
package gate
