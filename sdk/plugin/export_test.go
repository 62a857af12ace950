package plugin

import (
	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/storage"
)

// Register serves a plugin on a test's own gRPC server; exit is called when the
// host lets go of the lifeline.
func Register(s grpc.ServiceRegistrar, p Plugin, log hclog.Logger, exit func(reason string)) {
	register(s, p, newLife(exit), log, nil)
}

// ServerOptions are those that Serve gives its server.
func ServerOptions() []grpc.ServerOption { return serverOptions() }

// MaxMessage bounds one gRPC message.
const MaxMessage = maxMessage

// SecondDriver is the driver of a plugin that another client has configured.
func SecondDriver(c *Client) storage.Driver {
	return &driverClient{rpc: c.storage, stop: c.Stop}
}

// ForgetRoles has the host's end of a store forget the roles that it knows.
func ForgetRoles(s storage.Store) { s.(*storeClient).roles.rows = nil }

// RolesKept is how many roles the host's end of a store knows.
func RolesKept(s storage.Store) int { return len(s.(*storeClient).roles.rows) }
