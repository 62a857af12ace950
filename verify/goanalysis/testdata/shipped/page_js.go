package shipped

// authz-verify-ignore-next-line client-reachable-secret the public half has the same name
var theirs = map[string]string{"signingKey": ""}

func page() string { return theirs["signingKey"] + missing }
