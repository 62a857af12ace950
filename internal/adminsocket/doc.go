// Package adminsocket asks a running host over its administration socket
// (spec: host §3): its applications, and the host itself. Whoever may open the socket
// administers the host, so that no request carries a secret.
package adminsocket
