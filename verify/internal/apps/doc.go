// Package apps measures authz-verify on public applications: what it judges of what
// their text says they serve, under the configuration that init proposes. It belongs to
// no product, and keeps nothing of them.
package apps
