package mongo

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/plugins/mongo/mongotest"
	"github.com/authzhost/authz/sdk/storage"
)

// server is the one server of this test process; missing says why there is none.
var (
	server  *mongotest.Server
	missing error
)

func TestMain(m *testing.M) {
	server, missing = mongotest.Start()
	if missing != nil {
		fmt.Fprintln(os.Stderr, "SKIPPED: nothing of the mongo driver is tested:", missing)
	}
	// Cases mostly wait: for leases, and for each other's turns.
	if flag.Parse(); !given("test.parallel") {
		_ = flag.Set("test.parallel", "6")
	}
	if !given("rapid.checks") {
		_ = flag.Set("rapid.checks", "40")
	}
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

func needServer(t *testing.T) {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
}

// database is one that a single test uses. Its drivers behave as processes do.
type database struct {
	name   string
	layout layout.Kind
	lease  time.Duration
	adjust func(*options.ClientOptions)
	tune   func(*driver)
}

func freshDatabase(kind layout.Kind) *database {
	return &database{name: mongotest.Database(), layout: kind}
}

func (d *database) Connect(context.Context) (storage.Driver, error) {
	made, err := d.connect()
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (d *database) connect() (*driver, error) {
	made, err := newDriver(Options{URI: server.URI, Database: d.name, Layout: d.layout, Lease: d.lease}, d.adjust)
	if err == nil && d.tune != nil {
		d.tune(made)
	}
	return made, err
}

func (d *database) Close() error {
	return d.raw(func(ctx context.Context, db *mongodriver.Database) error { return db.Drop(ctx) })
}

func (d *database) Postpone(_ context.Context, partition, key string, by time.Duration) error {
	return d.raw(func(ctx context.Context, db *mongodriver.Database) error {
		name, id := "locks", any(key)
		switch {
		case d.layout == layout.Rows:
			id = bson.D{{Key: "app", Value: partition}, {Key: "id", Value: key}}
		case partition != "":
			name = partition + "_locks"
		}
		_, err := db.Collection(name).UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "expiresAt", Value: by.Milliseconds()}}}})
		return err
	})
}

// raw is the database without the driver.
func (d *database) raw(use func(context.Context, *mongodriver.Database) error) error {
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	client, err := mongodriver.Connect(options.Client().ApplyURI(server.URI))
	if err != nil {
		return err
	}
	defer client.Disconnect(ctx)
	return use(ctx, client.Database(d.name))
}

// full runs every case whatever it costs.
const full = "AUTHZ_FULL"

// selected are the cases that run in process: what the race detector has most to say
// of, where FerretDB takes minutes for the whole. make conformance proves both layouts
// by the binary.
func selected(t *testing.T, kind layout.Kind) (s conformance.Selection) {
	t.Helper()
	if os.Getenv(full) == "1" || server.Real {
		return s
	}
	if kind == layout.Collections {
		t.Skipf("SKIPPED in process, left for %s=1, a server named by %s, and the binary", full, mongotest.URIVariable)
	}
	for _, c := range conformance.Cases() {
		if !c.Large && (c.Suite == conformance.SuiteIsolation || strings.Contains(c.Rule, "section") || strings.Contains(c.Rule, "fence")) {
			s.IDs = append(s.IDs, c.ID)
		}
	}
	t.Logf("SKIPPED in process but for the %d cases about isolation and sections; left for %s=1, a server named by %s, and the binary",
		len(s.IDs), full, mongotest.URIVariable)
	return s
}

func TestConformance(t *testing.T) {
	needServer(t)
	for _, kind := range layouts {
		t.Run(string(kind), func(t *testing.T) {
			conformance.RunSelected(t, conformance.Target{
				Name:              "mongo " + string(kind),
				Unpartitioned:     kind == layout.Collections,
				Timeout:           20 * time.Minute, // the slow ones, where they are asked for
				SeparateProcesses: true,             // drivers share nothing but the database
				New: func(_ context.Context, o conformance.Options) (conformance.Backend, error) {
					d := freshDatabase(kind)
					d.lease = o.Lease
					return d, nil
				},
			}, selected(t, kind))
		})
	}
}
