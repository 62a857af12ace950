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
		Check: func(config map[string]any) error {
			o, _, err := optionsOf(config)
			if err != nil {
				return err
			}
			d, err := newDriver(o, nil) // which connects in the background at most
			if err != nil {
				return errContradiction()
			}
			return d.Close()
		},
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

// optionsOf reads settings that were checked against the schema. It repeats nothing
// of the connection string: it holds a password.
func optionsOf(config map[string]any) (Options, *connstring.ConnString, error) {
	refuse := func(field, message string) (Options, *connstring.ConnString, error) {
		return Options{}, nil, &plugin.ConfigError{Field: field, Message: message}
	}
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
		return refuse("uri", "is no valid MongoDB connection string")
	}
	if o.Database == "" {
		o.Database = uri.Database
	}
	switch {
	case o.Database == "":
		return refuse("database", "is required when the connection string names none")
	case o.Layout != layout.Collections && o.Layout != layout.Rows:
		return refuse("layout", "must be collections or rows")
	case o.Lease < leastLease:
		return refuse("lease", "must be at least "+leastLease.String())
	case o.WatchPoll <= 0:
		return refuse("watch_poll", "must be above zero")
	}
	return o, uri, nil
}

func errContradiction() error {
	return &plugin.ConfigError{Field: "uri", Message: "cannot be used: an option in it contradicts another"}
}

func configure(ctx context.Context, config map[string]any) (storage.Driver, error) {
	o, uri, err := optionsOf(config)
	if err != nil {
		return nil, err
	}
	d, err := newDriver(o, nil)
	if err != nil {
		return nil, errContradiction()
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
