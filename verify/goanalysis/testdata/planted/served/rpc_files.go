package served

import "context"

// Remove is a server function by the name of its file.
func (worker) Remove(ctx context.Context) {} // want `server function "Remove"`
