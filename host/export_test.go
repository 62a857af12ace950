package host

import "context"

// FlushUsage stores what was counted until now.
func (a *Application) FlushUsage(ctx context.Context) error { return a.usage.Flush(ctx) }
