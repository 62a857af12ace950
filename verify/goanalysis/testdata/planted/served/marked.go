//authz:server

package served

import "context"

// Save is a server function by the mark of its file.
func Save(ctx context.Context, id string) error { return nil } // want `server function "Save"`

// Close does not take a context.
func Close() {}

func quiet(ctx context.Context) {}
