// Package shipped runs on the device of whoever looks.
package shipped

var signingKey = load("signingKey") // want `\[client-reachable-secret\] "signingKey" referenced in a client file — ` `client-reachable-secret`

func load(name string) string { return name }
