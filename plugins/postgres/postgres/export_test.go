package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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

// AskedMeanwhile makes the server at dsn the one that a driver works with while its watcher
// waits to ask the others, and returns the split that the watcher finds.
func AskedMeanwhile(ctx context.Context, d storage.Driver, dsn string) error {
	p := d.(*driver).primary
	c, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	s, err := inspectServer(ctx, c)
	if err != nil {
		return err
	}
	p.asking.Lock()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		p.askAgain(ctx)
	}()
	time.Sleep(50 * time.Millisecond) // it waits
	p.now.Store(&s)
	p.asked = time.Time{}
	p.asking.Unlock()
	<-asked
	if split := p.split.Load(); split != nil {
		return split
	}
	return nil
}
