package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/sdk/storage"
)

// Traced has the driver tell of every statement.
func Traced(o Options, t pgx.QueryTracer) Options {
	o.tracer = t
	return o
}

// Configure is what the plugin's host calls.
var Configure = configure

// SetClock gives the machine another clock to compare the server's with.
func SetClock(d storage.Driver, now func() time.Time) { d.(*driver).offset.Now = now }

// AskAgain asks the hosts as the driver's watcher does.
func AskAgain(ctx context.Context, d storage.Driver) {
	p := d.(*driver).primary
	p.asking.Lock()
	p.asked = time.Time{}
	p.asking.Unlock()
	p.askAgain(ctx)
}
