// Package request reads what the standard library does not keep of a request as it
// was sent: its path, and escapes in its body that spell no character. Both HTTP
// APIs judge by it.
package request
