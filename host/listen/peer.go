package listen

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

// PeerLogin is the login name of who sent a request over a unix socket, the uid when
// the system knows no name for it. It is false where nobody is known.
func PeerLogin(ctx context.Context) (string, bool) {
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
