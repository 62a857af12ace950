package mongo

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
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
}

func (c *serverClock) now(ctx context.Context) (int64, error) {
	c.mu.Lock()
	asked, ms := c.asked, c.ms
	c.mu.Unlock()
	if age := time.Since(asked); !asked.IsZero() && age < clockAge {
		return ms + age.Milliseconds(), nil
	}
	var answer struct {
		LocalTime time.Time `bson:"localTime"`
	}
	if err := c.db.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&answer); err != nil {
		return 0, err
	}
	ms = answer.LocalTime.UnixMilli()
	c.mu.Lock()
	c.asked, c.ms = time.Now(), ms
	c.mu.Unlock()
	return ms, nil
}
