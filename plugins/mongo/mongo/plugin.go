package mongo

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

const leastLease = 100 * time.Millisecond

// Plugin is what authz-plugin-mongo serves.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    "mongo",
		Version: version,
		Storage: plugin.StorageKind{Capabilities: capabilities, Configure: configure},
		ConfigSchema: []plugin.Setting{
			{Name: "uri", Type: plugin.TypeString, Required: true, Secret: true,
				Description: "connection string, mongodb:// or mongodb+srv://; read and write concerns in it are overruled"},
			{Name: "database", Type: plugin.TypeString, Description: "database; without it the one that the connection string names"},
			{Name: "layout", Type: plugin.TypeString, Default: string(layout.Collections),
				Description: "collections: each partition in collections of its own; rows: all partitions in shared collections. One database holds one layout"},
			{Name: "lease", Type: plugin.TypeDuration, Default: storage.DefaultLease, Description: "how long a section is held without a renewal"},
			{Name: "watch_poll", Type: plugin.TypeDuration, Default: defaultWatchPoll,
				Description: "how often the event log is looked at for what other processes wrote"},
		},
	}
}

// configure repeats nothing of the connection string: it holds a password.
func configure(ctx context.Context, config map[string]any) (storage.Driver, error) {
	text := func(name string) string {
		s, _ := config[name].(string)
		return s
	}
	length := func(name string) time.Duration {
		d, _ := config[name].(time.Duration)
		return d
	}
	o := Options{URI: text("uri"), Database: text("database"), Layout: layout.Kind(text("layout")), Lease: length("lease"), WatchPoll: length("watch_poll")}
	uri, err := connstring.ParseAndValidate(o.URI)
	if err != nil {
		return nil, &plugin.ConfigError{Field: "uri", Message: "is no valid MongoDB connection string"}
	}
	if o.Database == "" {
		o.Database = uri.Database
	}
	switch {
	case o.Database == "":
		return nil, &plugin.ConfigError{Field: "database", Message: "is required when the connection string names none"}
	case o.Layout != layout.Collections && o.Layout != layout.Rows:
		return nil, &plugin.ConfigError{Field: "layout", Message: "must be collections or rows"}
	case o.Lease < leastLease:
		return nil, &plugin.ConfigError{Field: "lease", Message: "must be at least " + leastLease.String()}
	case o.WatchPoll <= 0:
		return nil, &plugin.ConfigError{Field: "watch_poll", Message: "must be above zero"}
	}
	d, err := newDriver(o, nil)
	if err != nil {
		return nil, &plugin.ConfigError{Field: "uri", Message: "cannot be used: an option in it contradicts another"}
	}
	if err := d.client.Ping(ctx, nil); err != nil {
		_ = d.Close()
		var refused *auth.Error
		if errors.As(err, &refused) {
			return nil, &plugin.ConfigError{Field: "uri", Message: "the server refused the user or the password"}
		}
		return nil, storage.Unavailable(authz.OutcomeNotApplied, err, "MongoDB at %s does not answer", strings.Join(uri.Hosts, ", "))
	}
	return d, nil
}
