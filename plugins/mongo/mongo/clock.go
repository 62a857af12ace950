package mongo

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/authzhost/authz/sdk/storage"
)

// clockAge is for how long an answer of the server's clock is carried on by the
// process's own. Behind is the safe side: it shortens leases and puts off thefts.
const clockAge = time.Second

// serverClock is the database's clock in epoch milliseconds.
type serverClock struct {
	db *mongodriver.Database

	mu    sync.Mutex
	asked time.Time // when the answer arrived
	ms    int64

	offset storage.ClockOffset
}

func (c *serverClock) now(ctx context.Context) (int64, error) {
	c.mu.Lock()
	asked, ms := c.asked, c.ms
	c.mu.Unlock()
	if age := time.Since(asked); !asked.IsZero() && age < clockAge {
		return ms + age.Milliseconds(), nil
	}
	ms, err := c.ask(ctx)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.asked, c.ms = time.Now(), ms
	c.mu.Unlock()
	return ms, nil
}

func (c *serverClock) ask(ctx context.Context) (ms int64, err error) {
	var answer struct {
		LocalTime time.Time `bson:"localTime"`
	}
	err = c.db.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&answer)
	return answer.LocalTime.UnixMilli(), err
}
