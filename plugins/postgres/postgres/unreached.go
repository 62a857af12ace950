package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
)

// unreached says why a server was not reached, as far as that holds no secret; "" when
// nothing is known. The driver's own text repeats the connection string.
func unreached(err error) string {
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &certificate):
		return ": its certificate is not accepted: " + certificate.Err.Error()
	case errors.As(err, &name):
		return ": " + name.Err
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return ": nobody listens there"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return ": there is no way to it in the network"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return ": no answer in time"
	}
	return ""
}
