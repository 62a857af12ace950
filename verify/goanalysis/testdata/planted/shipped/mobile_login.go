// Package shipped runs on the device of whoever looks.
package shipped

var signingKey = load("signingKey") // want `\[client-reachable-secret\] "signingKey" referenced in a client file — ` `client-reachable-secret`

const half = "Key"

var again = load("sign" + ("ing" + half)) // want `"signingKey" referenced in a client file`

var other = load("sign" + "ing" + "Keys" + again)

func load(name string) string { return name }
