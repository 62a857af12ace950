package api

import (
	"context"
	"net"
	"os/user"
	"strconv"
)

type peerKey struct{}

// withPeer notes who is at the other end of a unix socket.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	uid, ok := peerUID(socket)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, uid)
}

// peerLogin is the login name of the peer, its uid when the system knows no name
// for it, and false when the peer itself is unknown.
func peerLogin(ctx context.Context) (string, bool) {
	uid, ok := ctx.Value(peerKey{}).(uint32)
	if !ok {
		return "", false
	}
	id := strconv.FormatUint(uint64(uid), 10)
	if account, err := user.LookupId(id); err == nil && account.Username != "" {
		return account.Username, true
	}
	return id, true
}
